package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/server"
)

// Statuses of gRPC's health check.
const (
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	unknown    = grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
)

// TestHealthWatch: gRPC's own client learns at once whether the server is ready, of every change,
// and that it stops, for longer than a server lets a reply take. It needs no token.
func TestHealthWatch(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	notOpen := startLate(t, f, coordtest.ErrUnreachable)
	r := serve(t, func(c *server.Config) {
		withTokens(t)(c)
		c.Generators["late"] = notOpen
	})
	const limit = time.Second // for a whole reply
	limited := func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = limit, limit }
	health := grpc_health_v1.NewHealthClient(r.dialGRPC(limited))
	begun := time.Now()
	var all []grpc.ServerStreamingClient[grpc_health_v1.HealthCheckResponse]
	for _, service := range []string{"", "unalike.v1.IDService", "none"} {
		stream, err := health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stream)
	}
	next := func(i int, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			resp, err := all[i].Recv()
			if err != nil {
				t.Fatalf("%d: %v; want %v", i, err, want)
			}
			if resp.Status == want {
				return
			}
		}
	}
	next(0, notServing)
	next(1, notServing)
	next(2, unknown)
	<-time.After(time.Until(begun.Add(limit * 3 / 2)))
	f.Recover()
	next(0, serving)
	next(1, serving)
	if took := time.Since(begun); took > 8*time.Second { // without a change, one hears every 10 s
		t.Errorf("they heard after %v", took)
	}
	r.Drain()
	next(0, notServing)
	next(1, notServing)
	for i, stream := range all {
		if resp, err := stream.Recv(); status.Code(err) != grpccodes.Unavailable ||
			!strings.Contains(err.Error(), "stopping") {
			t.Errorf("%d, at the end: %v, %v", i, resp, err)
		}
	}
}

// TestHealthWatchJSON: who speaks Connect with JSON reads the same.
func TestHealthWatchJSON(t *testing.T) {
	r := serve(t, nil)
	for _, body := range []string{`{"service":"orders"}`, `{}`} {
		message := strings.NewReader("\x00\x00\x00\x00" + string(rune(len(body))) + body)
		resp, err := r.http.Client().Post(r.http.URL+"/grpc.health.v1.Health/Watch",
			"application/connect+json", message)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := bufio.NewReader(resp.Body).ReadString('}')
		if !strings.Contains(got, `{"status":`) || !strings.Contains(got, `"SERVING"`) || err != nil {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

// TestHealthMany: a connection has a bound on streams that everybody may have, of which those that
// have ended do not count; others are served all the same.
func TestHealthMany(t *testing.T) {
	r := serve(t, nil)
	watch := func(ctx context.Context, health grpc_health_v1.HealthClient) error {
		stream, err := health.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var attacker grpc_health_v1.HealthClient
	for range 4 { // more than there were places for when all callers shared them
		attacker = grpc_health_v1.NewHealthClient(r.dialGRPC())
		for range server.DefaultMaxWatches {
			if err := watch(ctx, attacker); err != nil {
				t.Fatal(err)
			}
		}
		if err := watch(ctx, attacker); status.Code(err) != grpccodes.ResourceExhausted ||
			!strings.Contains(err.Error(), "this connection has 10 streams under way") {
			t.Errorf("one too many: %v", err)
		}
	}
	if err := watch(ctx, grpc_health_v1.NewHealthClient(r.dialGRPC())); err != nil {
		t.Errorf("the victim: %v", err)
	}
	cancel()
	r.eventually("the streams have ended", func() bool { return watch(t.Context(), attacker) == nil })
}

// TestHealth: gRPC's own health check follows /readyz, and needs no token; each generator is a
// service of it.
func TestHealth(t *testing.T) {
	notOpen := startLate(t, coordtest.NewFake(coordtest.FakeConfig{}), coordtest.ErrUnreachable)
	r := serve(t, func(c *server.Config) {
		withTokens(t)(c)
		c.Generators["late"] = notOpen
	})
	health := grpc_health_v1.NewHealthClient(r.dialGRPC())
	check := func(service string, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		resp, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || resp.Status != want {
			t.Errorf("%q: %v, %v", service, resp, err)
		}
	}
	check("orders", serving)
	check("late", notServing)
	check("", notServing)
	check("unalike.v1.IDService", notServing)
	_, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "none"})
	if status.Code(err) != grpccodes.NotFound {
		t.Errorf("none: %v", err)
	}
}

// TestOneLook: however many watch, health and page are looked at a few times a second; and a
// connection has a bound.
func TestOneLook(t *testing.T) {
	t.Parallel()
	r, counted := serveCounted(t)
	url, begun := r.listen().URL+"/page/events", time.Now()
	for range 3 {
		health, c := grpc_health_v1.NewHealthClient(r.dialGRPC()), http2Client(t)
		for i := range server.DefaultMaxWatches + 1 {
			resp, err := c.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if refused := i == server.DefaultMaxWatches; (resp.StatusCode == 429) != refused {
				t.Errorf("stream %d: %s", i, resp.Status)
			}
			stream, err := health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = stream.Recv() // one too many is refused
		}
	}
	<-time.After(time.Second)
	most := 1 + int64(time.Since(begun)/(100*time.Millisecond))
	// the page asks for both
	if checks, looks := counted.checks.Load(), counted.looks.Load(); checks > 2*most || looks > most {
		t.Errorf("30 watchers of each looked %d and %d times, want at most %d and %d", checks, looks,
			2*most, most)
	}
}

// counting counts how often the server asks whether a generator is ready, and how it is.
type counting struct{ checks, looks atomic.Int64 }

// serveCounted counts the looks at a generator of the server.
func serveCounted(t *testing.T) (*rig, *counting) {
	t.Helper()
	c := new(counting)
	r := serve(t, nil)
	err := r.Counting("orders", func() { c.checks.Add(1) }, func() { c.looks.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

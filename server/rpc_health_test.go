package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // has the client watch the health
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

// TestHealthWatch: gRPC's own client learns at once whether the server is ready, of every change, and that it stops, for
// longer than a server lets a reply take. It needs no token.
func TestHealthWatch(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	late := startLate(t, f)
	tokens := withTokens(t)
	r := serve(t, func(c *server.Config) {
		tokens(c)
		c.Generators["late"] = late
	})
	const limit = time.Second // for a whole reply
	health := grpc_health_v1.NewHealthClient(r.dialGRPC(func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = limit, limit }))
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
	f.Heal()
	next(0, serving)
	next(1, serving)
	r.Drain()
	next(0, notServing)
	next(1, notServing)
	for i, stream := range all {
		if resp, err := stream.Recv(); status.Code(err) != grpccodes.Unavailable || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("%d, at the end: %v, %v", i, resp, err)
		}
	}
}

// TestHealthBalancer: a balancer of gRPC, which watches the health, leaves a server that is not ready.
func TestHealthBalancer(t *testing.T) {
	r := serve(t, nil)
	conn, err := grpc.NewClient(strings.TrimPrefix(r.listen().URL, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"unalike.v1.IDService"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.WaitForStateChange(t.Context(), state)
	}
	r.Drain()
	conn.WaitForStateChange(t.Context(), connectivity.Ready)
}

// TestHealthMany: there is a bound on streams that everybody may have, and it is not that of operators.
func TestHealthMany(t *testing.T) {
	r := serve(t, nil)
	health := grpc_health_v1.NewHealthClient(r.dialGRPC())
	watch := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := health.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	r.AddWatches(server.MaxWatches)
	if err := watch(); err != nil {
		t.Errorf("beside the streams of operators: %v", err)
	}
	r.AddHealths(server.MaxWatches)
	if err := watch(); status.Code(err) != grpccodes.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	}
}

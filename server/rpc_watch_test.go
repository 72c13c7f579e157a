package server_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
	"github.com/unalike-id/unalike/server"
)

// startLate returns a generator that has no worker ID before f is healed.
func startLate(t *testing.T, f *coordtest.Fake, why error) *core.Generator {
	t.Helper()
	f.Fail(coordtest.Acquire, why, coordtest.Forever)
	g, err := core.Start(f.Client(), core.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// TestWatch: a watcher learns how a generator is, and when that changes; hears from time to time,
// longer than a server lets a reply take, and is sent away when the server stops.
func TestWatch(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	notOpen := startLate(t, f, coordtest.ErrUnreachable)
	r := serve(t, func(c *server.Config) { c.Generators["late"] = notOpen })
	page := r.listen(func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = time.Second, time.Second })
	clients := []unalikev1connect.IDServiceClient{
		unalikev1connect.NewIDServiceClient(page.Client(), page.URL), // HTTP/1.1
	}
	for _, options := range protocols {
		clients = append(clients, r.service(page.URL, "", options...))
	}
	var all []*connect.ServerStreamForClient[unalikev1.WatchResponse]
	for _, c := range clients {
		req := &unalikev1.WatchRequest{Generator: "late", Interval: durationpb.New(time.Second)}
		stream, err := c.Watch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		all = append(all, stream)
	}
	for _, stream := range all {
		for range 4 { // after three seconds
			if !stream.Receive() {
				t.Fatal(stream.Err())
			}
			if m := stream.Msg(); m.Ready || !strings.Contains(m.Reason, "not started yet") ||
				len(m.WorkerIds) != 0 {
				t.Errorf("%v", m)
			}
		}
	}
	f.Recover()
	for _, stream := range all {
		for !stream.Msg().Ready {
			if !stream.Receive() {
				t.Fatal(stream.Err())
			}
		}
		if m := stream.Msg(); m.Reason != "" || !slices.Equal(m.WorkerIds, []uint32{0}) ||
			m.WindowLeft.AsDuration() <= 0 {
			t.Errorf("%v", m)
		}
	}
	r.Drain()
	r.Drain() // twice is no mistake
	for _, stream := range all {
		for stream.Receive() {
		}
		if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable ||
			!strings.Contains(err.Error(), "stopping") {
			t.Errorf("at the end: %v", err)
		}
	}
}

func TestWatchRefused(t *testing.T) {
	r := serve(t, nil)
	c := r.service(r.listen().URL, "")
	const bounds = "interval is a duration from 1s to 24 hours"
	for _, tt := range []struct {
		generator string
		interval  time.Duration
		code      connect.Code
		text      string
	}{
		{"none", time.Second, connect.CodeNotFound, "known are"},
		{"orders", time.Second - 1, connect.CodeInvalidArgument, bounds},
		{"orders", 24*time.Hour + 1, connect.CodeInvalidArgument, bounds},
		{"orders", math.MaxInt64, connect.CodeInvalidArgument, bounds},
	} {
		req := &unalikev1.WatchRequest{Generator: tt.generator, Interval: durationpb.New(tt.interval)}
		stream, err := c.Watch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if stream.Receive() || connect.CodeOf(stream.Err()) != tt.code ||
			!strings.Contains(stream.Err().Error(), tt.text) {
			t.Errorf("%v: %v", req, stream.Err())
		}
		_ = stream.Close()
	}
}

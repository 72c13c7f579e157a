package redis_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestStockClient_EachTenthAnswerIsLost: with the client that a program has already, generators
// keep their worker IDs when each tenth answer is lost, and no ID comes twice.
func TestStockClient_EachTenthAnswerIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	network := proxytest.Start(t, server.Addr)
	ns := newNamespace(t, server.Client(t), core.DefaultLayout().String())
	network.Rob(10, func(b []byte) bool { return bytes.Contains(b, []byte(redis.KeyOf(ns))) })
	cfg := core.Config{
		Lease:  coord.LeaseConfig{RenewEvery: 20 * time.Millisecond},
		Logger: slog.New(slog.DiscardHandler),
	}
	var generators []*core.Generator
	var had []int
	for range 4 {
		client := goredis.NewClient(&goredis.Options{Addr: network.Addr})
		t.Cleanup(func() { _ = client.Close() })
		c := newCoordinator(t, client, ns)
		g, err := core.New(within(t), c, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close(within(t)) })
		generators, had = append(generators, g), append(had, g.Health().Workers[0].WorkerID)
	}
	seen := map[core.ID]bool{}
	for network.Robbed() < 20 {
		for i, g := range generators {
			id, err := g.NextContext(within(t))
			if err != nil || seen[id] {
				safetytest.Unless(t, err).Fatalf("%v, which was issued: %v; %v", id, seen[id], err)
			}
			seen[id] = true
			if now := g.Health().Workers[0].WorkerID; now != had[i] {
				t.Fatalf("worker ID %d was lost, and %d leased", had[i], now)
			}
		}
	}
	network.Restore()
}

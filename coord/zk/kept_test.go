package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestNothingIsKeptForEver: of many acquisitions that were given up and not made again, a few
// sessions stay, and none of these for longer than a session lasts.
func TestNothingIsKeptForEver(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	c := newCoordinator(t, []string{proxy.Addr}, rand.Text(), nil)
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	proxy.Delay(200 * time.Millisecond)
	giveUp := func(n int, ttl time.Duration) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				req := request(capacity)
				req.TTL = ttl
				// connecting alone takes 200
				ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
				defer cancel()
				if g, err := c.Acquire(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Acquire, given up: %v, %v", g, err)
				}
			})
		}
		all.Wait()
	}
	const most = 8
	giveUp(100, 2*time.Minute) // they would be there for so long, however slow the machine is
	streamtest.Eventually(t, "few sessions are left", func() bool {
		return len(server.Sessions(t)) <= most
	})
	if n := len(server.Sessions(t)); n == 0 {
		t.Error("no session is left for a call with the same token")
	}
	for _, id := range server.Sessions(t) {
		server.KillSession(t, id)
	}
	streamtest.Eventually(t, "what the servers have ended is over", func() bool {
		return len(server.Sessions(t)) == 0
	})
	giveUp(most, 2*time.Second)
	streamtest.Eventually(t, "what is not used any more is over", func() bool {
		return len(server.Sessions(t)) == 0
	})
}

// TestHoldersAreKept: renewals that were given up end no session, however many.
func TestHoldersAreKept(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	c := newCoordinator(t, []string{proxy.Addr}, rand.Text(), nil)
	var held []coord.Grant
	for range 12 {
		held = append(held, mustAcquire(t, c, request(capacity)))
	}
	var before []int64 // those that hold something: on a slow machine others may have begun
	streamtest.Eventually(t, "each holder has a session, and nobody else", func() bool {
		before = server.Sessions(t)
		return len(before) == len(held)
	})
	proxy.Delay(300 * time.Millisecond)
	for _, g := range held {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if h, err := c.Renew(ctx, g, g.NotAfter+1); err == nil {
			t.Errorf("Renew, given up: %v", h)
		}
		cancel()
	}
	<-time.After(3 * time.Second) // which is longer than others are kept
	for _, id := range before {
		if !slices.Contains(server.Sessions(t), id) {
			t.Errorf("session %#x was ended", id)
		}
	}
}

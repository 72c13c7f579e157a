package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// giveUp begins an acquisition and gives it up after its first round trip: what it reads then, its third value, is answered
// only when it has returned, however slow the machine is.
func giveUp(t *testing.T, c *zk.Coordinator, proxy *zktest.Proxy, req coord.Request) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	read, returned := make(chan struct{}), make(chan struct{})
	proxy.After(zktest.OpGet, 3, func() {
		close(read)
		cancel()
		<-returned
	})
	g, err := c.Acquire(ctx, req)
	close(returned)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire, given up after its first round trip: %v, %v", g, err)
	}
	<-read // otherwise its time was over before
}

// TestClockSetBetweenAttempts: an acquisition has no time for more than its first round
// trip, and the clock is set before the next one with the same token. What is kept of
// the first does not vouch for the clock of the second: a window that reaches further
// than any right clock can want it is not protected by a floor after a loss.
func TestClockSetBetweenAttempts(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		proxy := zktest.StartProxy(t, server.Addr)
		clk := clocktest.NewShifted(time.Now())
		c := newCoordinator(t, []string{proxy.Addr}, rand.Text(), &zk.Options{Clock: clk})
		if err := c.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		req := request(1)
		giveUp(t, c, proxy, req)
		clk.Step(by)
		move := by.Milliseconds()
		req.Now, req.Until, req.OpenBy = req.Now+move, req.Until+move, req.OpenBy+move
		if g, err := c.Acquire(within(t), req); !errors.Is(err, coord.ErrClockSkew) {
			t.Errorf("Acquire with a clock that was set by %v: %v, %v; want %v", by, g, err, coord.ErrClockSkew)
		}
	}
}

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
				ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond) // connecting alone takes 200
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
	streamtest.Eventually(t, "few sessions are left", func() bool { return len(server.Sessions(t)) <= most })
	if n := len(server.Sessions(t)); n == 0 {
		t.Error("no session is left for a call with the same token")
	}
	for _, id := range server.Sessions(t) {
		server.KillSession(t, id)
	}
	streamtest.Eventually(t, "what the servers have ended is over", func() bool { return len(server.Sessions(t)) == 0 })
	giveUp(most, 2*time.Second)
	streamtest.Eventually(t, "what is not used any more is over", func() bool { return len(server.Sessions(t)) == 0 })
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
	before := server.Sessions(t)
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

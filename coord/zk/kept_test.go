package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
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

// TestNothingIsKeptForEver: nothing is left of an acquisition that was given up and not
// made again, however its session ends.
func TestNothingIsKeptForEver(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	proxy := zktest.StartProxy(t, server.Addr)
	c := newCoordinator(t, []string{proxy.Addr}, rand.Text(), nil)
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "the session of Init is over", func() bool { return len(server.Sessions(t)) == 0 })
	for what, tt := range map[string]struct {
		ttl time.Duration
		end func()
	}{
		"it is not used any more": {3 * time.Second, func() {}},
		"the servers end it": {2 * time.Minute, func() { // and not its time, on a machine that is slow
			sessions := server.Sessions(t)
			if len(sessions) == 0 {
				t.Fatal("there is no session to end")
			}
			for _, session := range sessions { // one, and those of connections that were made again
				server.KillSession(t, session)
			}
		}},
	} {
		req := request(1)
		req.TTL = tt.ttl
		giveUp(t, c, proxy, req)
		tt.end()
		streamtest.Eventually(t, "the session is over after: "+what, func() bool {
			return len(server.Sessions(t)) == 0
		})
	}
}

package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// patient makes calls with the deadlines that a keeper gives: twice the time after each
// that ran out, up to the TTL, and after a success three times as long as it took.
type patient struct {
	limit, most time.Duration
}

// base is the shortest deadline.
const base = 1500 * time.Millisecond

func (p *patient) call(t *testing.T, do func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), p.limit)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	switch {
	case err == nil:
		p.limit = min(max(base, 3*time.Since(began)), p.most)
	case errors.Is(err, context.DeadlineExceeded):
		p.limit = min(2*p.limit, p.most)
	}
	return err
}

// acquire makes attempts, in the time of at most so many of the longest.
func (p *patient) acquire(t *testing.T, c *zk.Coordinator, req coord.Request) (g coord.Grant) {
	t.Helper()
	for range attempts {
		err := p.call(t, func(ctx context.Context) (err error) {
			req.Now = tickNow()
			req.Until = req.Now + 10_000
			g, err = c.Acquire(ctx, req)
			return err
		})
		if err == nil {
			return g
		}
		t.Logf("acquire: %v", err)
	}
	t.Fatalf("nothing was acquired in %d attempts", attempts)
	return g
}

// renew makes attempts until one succeeds.
func (p *patient) renew(t *testing.T, c *zk.Coordinator, g coord.Grant) coord.Grant {
	t.Helper()
	for range attempts {
		err := p.call(t, func(ctx context.Context) error {
			h, err := c.Renew(ctx, g, tickNow()+30_000)
			if err == nil {
				g = h
			}
			return err
		})
		if err == nil {
			return g
		}
		if errors.Is(err, coord.ErrLeaseLost) {
			t.Fatal(err)
		}
		t.Logf("renew: %v", err)
	}
	t.Fatalf("%v was not renewed in %d attempts", g, attempts)
	return g
}

// attempts is more than the deadlines need to grow and a call to get through.
const attempts = 10

// TestSlowAnswers: renewals and acquisitions get through however late answers are, and
// connections are kept if they take no longer than a third of the session's time.
func TestSlowAnswers(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	tests := []struct {
		delay, ttl time.Duration
		lost       int // connections that may be taken for dead
	}{
		{450 * time.Millisecond, 15 * time.Second, 0},
		{3 * time.Second, 5 * time.Second, 3},
		{time.Second, 15 * time.Second, 0},
		{3 * time.Second, 15 * time.Second, 0},
	}
	for _, tt := range tests[:fulltest.Rounds(2, len(tests))] {
		t.Run(tt.delay.String()+" of "+tt.ttl.String(), func(t *testing.T) {
			t.Parallel()
			slow := proxytest.Start(t, server.Addr)
			c := newCoordinator(t, []string{slow.Addr}, rand.Text(), nil)
			req := request(4)
			req.TTL = tt.ttl
			g := mustAcquire(t, c, req)
			slow.Delay(tt.delay)
			before := slow.Connections()
			p := &patient{base, tt.ttl}
			for range 3 {
				g = p.renew(t, c, g)
			}
			if n := slow.Connections() - before; n > tt.lost {
				t.Errorf("%d new connections; want at most %d", n, tt.lost)
			}
			req = request(4)
			req.TTL = tt.ttl
			p = &patient{base, tt.ttl}
			p.acquire(t, c, req)
		})
	}
}

// TestGeneratorOfASlowEnsemble: no Next fails while answers are late, always and once by
// three times as much.
func TestGeneratorOfASlowEnsemble(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	proxy := proxytest.Start(t, zktest.Start(t, zktest.Options{}).Addr)
	streamtest.Slow(t, newCoordinator(t, []string{proxy.Addr}, rand.Text(), nil), proxy.Delay)
}

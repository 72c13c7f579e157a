package local

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// tardy is a link on which every answer takes its time.
type tardy struct {
	*link
	takes *atomic.Int64
}

func (l tardy) waits(ctx context.Context) error {
	select {
	case <-time.After(time.Duration(l.takes.Load())):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l tardy) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	g, err := l.link.Acquire(context.WithoutCancel(ctx), req)
	return inTime(ctx, l, g, err)
}

func (l tardy) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	g, err := l.link.Renew(context.WithoutCancel(ctx), g, until)
	return inTime(ctx, l, g, err)
}

func (l tardy) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	g, err := l.link.Resume(context.WithoutCancel(ctx), g, token, until)
	return inTime(ctx, l, g, err)
}

func (l tardy) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := inTime(ctx, l, g, l.link.Release(context.WithoutCancel(ctx), g, last))
	return err
}

func (l tardy) Inspect(ctx context.Context) (coord.Namespace, error) {
	ns, err := l.link.Inspect(context.WithoutCancel(ctx))
	return inTime(ctx, l, ns, err)
}

// inTime is an answer, if it comes before the caller's time is over.
func inTime[A any](ctx context.Context, l tardy, answer A, err error) (A, error) {
	if late := l.waits(ctx); late != nil {
		var none A
		return none, late
	}
	return answer, err
}

// slowly starts a generator whose back end takes its time, which must not be in vain.
func (r *rig) slowly(takes *atomic.Int64, lease coord.LeaseConfig) (*core.Generator, *process) {
	r.Helper()
	p := r.start()
	p.Coordinator.inner = tardy{p.link, takes}
	g, err := core.New(r.Context(), p.Coordinator, core.Config{Clock: present{}, Lease: lease, StartTimeout: 2 * time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.Fatalf("each answer takes %v: %v", time.Duration(takes.Load()), err)
	}
	r.Cleanup(func() {
		_ = g.Close(context.Background())
		time.Sleep(time.Minute) // until the last answer
	})
	return g, p
}

// TestRestartOnASlowBackEnd: a back end whose answers take less than a lease serves as without a file, although it is asked twice
// where there is something to go on with: for its namespace, and to resume the grant.
func TestRestartOnASlowBackEnd(t *testing.T) {
	lease := coord.LeaseConfig{TTL: 3 * time.Second, Horizon: 6 * time.Second}
	for name, idle := range map[string]time.Duration{"the window in the file is over": time.Minute, "something of it is left": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				var disk, takes atomic.Int64
				r.sys = bubbleDisk(&disk)
				_, p := r.slowly(&takes, lease)
				for range 3 {
					time.Sleep(30 * time.Second)
					p.kill()
					takes.Store(int64(2 * time.Second))
					time.Sleep(idle)
					var g *core.Generator
					g, p = r.slowly(&takes, lease)
					time.Sleep(30 * time.Second)
					for range 100 {
						if _, err := g.Next(); err != nil {
							t.Fatalf("30 s after a restart, while each answer takes 2 s: %v", err)
						}
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		})
	}
}

// TestClockBehindOnASlowBackEnd: with a clock far behind the mark, another worker ID is leased, however long the back end takes to
// answer: the window in the file would open an hour later. If it did not answer at all, it does later.
func TestClockBehindOnASlowBackEnd(t *testing.T) {
	for name, away := range map[string]time.Duration{"it is slow": 0, "it is away at first": time.Minute} {
		for _, spent := range []bool{false, true} { // the window that the file has
			t.Run(fmt.Sprintf("%s, spent %t", name, spent), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					var disk, takes atomic.Int64
					r.sys = bubbleDisk(&disk)
					if err := memory(t, r.server).Init(r.ctx(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024, MaxHorizon: declaredHorizon}); err != nil {
						t.Fatal(err)
					}
					r.leftLate(time.Hour, spent)
					takes.Store(int64(2 * time.Second))
					if away > 0 {
						r.away.Store(true)
						time.AfterFunc(away, func() { r.away.Store(false) })
					}
					began := time.Now()
					p := r.start()
					p.Coordinator.inner = tardy{p.link, &takes}
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
					defer cancel()
					g, err := core.New(ctx, p.Coordinator, core.Config{Clock: present{}, Lease: coord.LeaseConfig{Horizon: declaredHorizon}, StartTimeout: 2 * time.Minute, Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
					if _, err := g.Next(); err != nil {
						t.Error(err)
					}
					_ = g.Close(t.Context())
					time.Sleep(time.Minute)
				})
			})
		}
	}
}

// leftLate leaves a file whose mark is so far ahead.
func (r *rig) leftLate(ahead time.Duration, spent bool) {
	p := r.start()
	req := r.ahead(declaredHorizon)
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		r.Fatal(err)
	}
	p.known()
	p.Coordinator.mu.Lock()
	h := p.holds[g.Token]
	if h.raise(tickNow() + ahead.Milliseconds()); spent {
		h.entry.Pieces[0].To = h.entry.Mark
	}
	if err := p.store(r.ctx()); err != nil {
		r.Error(err)
	}
	p.Coordinator.mu.Unlock()
	p.kill()
}

// TestSilentBackEndIsAskedAgain: who goes on without the back end gives up a question that stays without an answer as soon as a
// renewal, so that the end of an outage is noticed as soon.
func TestSilentBackEndIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var disk, takes atomic.Int64
		r.sys = bubbleDisk(&disk)
		r.left()
		takes.Store(int64(time.Hour))
		p := r.start()
		p.Coordinator.inner = tardy{p.link, &takes}
		req := r.request(4)
		req.TTL = 3 * time.Second
		g, err := p.Acquire(r.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		var last, longest time.Duration
		began, calls := time.Now(), p.link.calls.Load()
		for range 240 {
			time.Sleep(250 * time.Millisecond)
			if h, err := p.Renew(r.ctx(), g, tickNow()+horizon); err == nil {
				g = h
			}
			if n := p.link.calls.Load(); n != calls {
				calls, last = n, time.Since(began)
			}
			longest = max(longest, time.Since(began)-last)
		}
		if limit := req.TTL + 2*time.Second; longest > limit {
			t.Errorf("it was not asked for %v", longest)
		}
	})
}

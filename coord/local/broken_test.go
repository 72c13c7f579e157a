package local

import (
	"context"
	"errors"
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
	if late := l.waits(ctx); late != nil {
		return coord.Grant{}, late
	}
	return g, err
}

func (l tardy) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	g, err := l.link.Renew(context.WithoutCancel(ctx), g, until)
	if late := l.waits(ctx); late != nil {
		return coord.Grant{}, late
	}
	return g, err
}

func (l tardy) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	g, err := l.link.Resume(context.WithoutCancel(ctx), g, token, until)
	if late := l.waits(ctx); late != nil {
		return coord.Grant{}, late
	}
	return g, err
}

func (l tardy) Release(ctx context.Context, g coord.Grant, last int64) error {
	err := l.link.Release(context.WithoutCancel(ctx), g, last)
	if late := l.waits(ctx); late != nil {
		return late
	}
	return err
}

func (l tardy) Inspect(ctx context.Context) (coord.Namespace, error) {
	ns, err := l.link.Inspect(context.WithoutCancel(ctx))
	if late := l.waits(ctx); late != nil {
		return coord.Namespace{}, late
	}
	return ns, err
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
				g, p := r.slowly(&takes, lease)
				for range 3 {
					time.Sleep(30 * time.Second)
					p.kill()
					takes.Store(int64(2 * time.Second))
					time.Sleep(idle)
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

// hangsWhile runs a generator whose disk hangs, or fails, to which something else happens at the same moment, and which must have IDs again
// while the disk still hangs.
func hangsWhile(t *testing.T, fails error, ahead time.Duration, trouble func(r *rig, step *atomic.Int64, worker int)) {
	inBubble(t, func(t *testing.T, r *rig) {
		d := &disk{}
		r.sys = d.seam
		var step atomic.Int64
		p := r.start()
		g, err := core.New(t.Context(), p.Coordinator, core.Config{Clock: steppedBy{&step}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		step.Store(int64(ahead))
		time.Sleep(30 * time.Second)
		if _, err = g.Next(); err != nil {
			t.Fatal(err)
		}
		hang := make(chan struct{})
		if d.set(hang, nil); fails != nil {
			d.set(nil, fails)
		}
		trouble(r, &step, g.Health().Workers[0].WorkerID)
		time.Sleep(time.Minute)
		if _, err = g.Next(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		d.set(nil, nil)
		close(hang)
		time.Sleep(time.Minute)
		if _, err = g.Next(); err != nil {
			t.Errorf("when the disk answers again: %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// steppedBy is the time, and so many nanoseconds besides.
type steppedBy struct{ step *atomic.Int64 }

func (s steppedBy) UnixMicro() int64 {
	return time.Now().Add(time.Duration(s.step.Load())).UnixMicro()
}

// TestRetiredWhileTheDiskHangs: a worker ID that is lost before its mark is passed is followed by one that the file does not name.
func TestRetiredWhileTheDiskHangs(t *testing.T) {
	for _, fails := range []error{nil, errors.New("input/output error")} {
		for _, after := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			hangsWhile(t, fails, 0, func(r *rig, _ *atomic.Int64, worker int) {
				time.Sleep(after)
				if err := memory(r, r.server).Retire(r.ctx(), worker); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestClockStepsBackWhileTheDiskHangs: so is one whose mark is not passed because the clock has gone back.
func TestClockStepsBackWhileTheDiskHangs(t *testing.T) {
	for _, fails := range []error{nil, errors.New("input/output error")} {
		hangsWhile(t, fails, 100*time.Second, func(_ *rig, step *atomic.Int64, _ int) { step.Store(0) })
	}
}

// TestCalledOffRelease: a generator that was closed with a context which had ended has not parked its worker ID. The next one of
// the process goes on with it all the same, above the mark, while the back end is away as well as when it answers.
func TestCalledOffRelease(t *testing.T) {
	for _, away := range []bool{true, false} {
		inBubble(t, func(t *testing.T, r *rig) {
			var disk atomic.Int64
			r.sys = bubbleDisk(&disk)
			p := r.start()
			g := p.acquire(1)
			p.known()
			g = p.renew(g)
			r.away.Store(away)
			time.Sleep(10 * time.Second)
			g = p.renew(g)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := p.Release(ended, g, g.NotBefore); !errors.Is(err, context.Canceled) || p.link.released.Load() != 0 {
				t.Errorf("away %t: %v", away, err)
			}
			if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("away %t: renewed after that: %v", away, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if h, err := p.Acquire(ctx, r.request(1)); err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
				t.Errorf("away %t: %v was let go; the next one is %v, %v", away, g, h, err)
			}
		})
	}
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

// TestRestoredBackEnd: a back end that has come back with a backup, of which nobody else knows anything, has forgotten what the file
// remembers. What it grants anew begins above the mark.
func TestRestoredBackEnd(t *testing.T) {
	for _, late := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			var disk atomic.Int64
			r.sys = bubbleDisk(&disk)
			if err := memory(t, r.server).Init(r.ctx(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024, MaxHorizon: declaredHorizon}); err != nil {
				t.Fatal(err)
			}
			restore := r.server.Snapshot()
			p := r.start()
			g := p.renew(p.acquire(1))
			p.known()
			if p.kill(); late {
				r.leftLate(10*time.Second, false)
			}
			restore()
			p = r.start()
			for range 2 { // one of them is what was forgotten
				req := r.request(2)
				h, err := p.Acquire(r.ctx(), req)
				for n := 0; n < 5 && err != nil; n++ {
					h, err = p.Acquire(r.ctx(), req)
				}
				if err != nil || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
					t.Errorf("after %v, of which the back end knows nothing: %v, %v", g, h, err)
				}
			}
		})
	}
}

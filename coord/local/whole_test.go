package local

import (
	"context"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// trip takes its time, and loses some.
func (h *whole) trip(ctx context.Context, _ string, _ func(*protocol.Coordinator)) error {
	select {
	case <-time.After(time.Duration(h.random.Int64N(int64(h.delay) + 1))):
	case <-ctx.Done():
		return ctx.Err()
	}
	if h.away.Load() || h.random.IntN(20) == 0 {
		return errAway
	}
	return nil
}

// shared is a source of random numbers for several goroutines.
type shared struct {
	mu     sync.Mutex
	source mrand.Source
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

type whole struct {
	*rig
	random *mrand.Rand
	delay  time.Duration
	upTo   atomic.Int64  // a record takes up to that, in nanoseconds
	base   time.Duration // and that besides
	step   atomic.Int64  // of the process' clock, in nanoseconds
	seen   map[core.ID]string
	log    []string
	issued int
	worst  time.Duration
}

func (h *whole) note(format string, args ...any) {
	h.log = append(h.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

type gens struct {
	name string
	p    *process
	all  []*core.Generator
}

type stepped struct{ h *whole }

func (s stepped) UnixMicro() int64 { return time.Now().Add(time.Duration(s.h.step.Load())).UnixMicro() }

func (h *whole) generator(ctx context.Context, c coord.Coordinator, k clock.Clock) (*core.Generator, error) {
	return core.New(ctx, c, core.Config{
		Layout: core.Layout{Epoch: time.Unix(0, 0).UTC(), Unit: time.Millisecond, TimeBits: 41, WorkerBits: 2, SequenceBits: 12},
		Logger: slog.New(slog.DiscardHandler), Clock: k,
	})
}

func (h *whole) take(who string, g *core.Generator) {
	id, err := g.TryNext()
	if err != nil {
		return
	}
	h.issued++
	if before, twice := h.seen[id]; twice {
		for _, l := range h.log {
			h.Log(l)
		}
		h.Fatalf("%s issues %v again, which was issued by %s", who, id, before)
	}
	h.seen[id] = who + " " + time.Now().Format("04:05.000")
}

func (h *whole) run(t *testing.T, seed uint64) {
	h.server.Clock = present{}.UnixMicro
	h.sys = func(s *system) {
		h.disk.seam(s)
		sync := s.sync
		s.sync = func(f *os.File) error {
			up := h.upTo.Load()
			if up > 0 {
				time.Sleep(time.Duration(h.random.Int64N(up)))
			}
			time.Sleep(h.base)
			if h.random.IntN(40) == 0 && up > 0 {
				return errDisk
			}
			return sync(f)
		}
	}
	rival, err := h.generator(t.Context(), memory(t, h.server), present{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var ps *gens
	launch := func() {
		n++
		if ps == nil || ps.p.life.Context().Err() != nil {
			ps = &gens{p: h.start()}
			l := ps.p.Coordinator.remote.(*link)
			l.before, l.after = h.trip, h.trip
		}
		ps.name, ps.all = fmt.Sprint("process ", n), nil
		for range 1 + h.random.IntN(2) {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			began := time.Now()
			g, err := h.generator(ctx, ps.p.Coordinator, stepped{h})
			cancel()
			h.note("%s: New after %v (away %t): %v", ps.name, time.Since(began), h.away.Load(), err)
			if err == nil {
				ps.all = append(ps.all, g)
				if h.worst < time.Since(began) {
					h.worst = time.Since(began)
				}
			}
		}
	}
	end := func(order bool) {
		if !order {
			ps.p.kill()
			h.note("%s: killed", ps.name)
		}
		for _, g := range ps.all {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			err := g.Close(ctx)
			cancel()
			if order {
				h.note("%s: Close: %v", ps.name, err)
			}
		}
		ps.p.kill()
	}
	launch()
	for range 1500 {
		for _, g := range ps.all {
			h.take(ps.name, g)
		}
		if rival != nil {
			h.take("rival", rival)
		}
		switch k := h.random.IntN(300); {
		case k < 4:
			end(false)
			launch()
		case k < 6:
			end(true)
			launch()
		case k < 8: // other generators on the same coordinator
			for _, g := range ps.all {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(h.random.IntN(3000))*time.Millisecond)
				h.note("%s: Close: %v", ps.name, g.Close(ctx))
				cancel()
			}
			launch()
		case k < 10:
			h.away.Store(!h.away.Load())
			h.note("away %t", h.away.Load())
		case k < 11:
			h.server.Expire(h.random.IntN(4))
			h.note("a lease expires")
		case k < 12:
			_, _ = memory(t, h.server).Quarantine(t.Context(), time.Now().Add(time.Duration(h.random.IntN(30))*time.Second))
			h.note("quarantine")
		case k < 14:
			h.step.Store(int64(h.random.IntN(60_000)-30_000) * int64(time.Millisecond))
			h.note("the clock is off by %v", time.Duration(h.step.Load()))
		case k < 16:
			h.step.Store(0)
		case k < 17:
			if rival != nil {
				_ = rival.Close(t.Context())
				rival = nil
			} else {
				rival, _ = h.generator(t.Context(), memory(t, h.server), present{})
			}
		}
		time.Sleep(time.Duration(h.random.IntN(100)) * time.Millisecond)
	}
	h.recovers(ps)
	end(false)
	if rival != nil {
		_ = rival.Close(t.Context())
	}
}

// recovers lets everybody answer again, though a slow disk stays slow: a minute later all generators have IDs, whatever
// happened before.
func (h *whole) recovers(ps *gens) {
	h.away.Store(false)
	h.step.Store(0)
	h.upTo.Store(0)
	served := make([]int, len(ps.all))
	for s := range 120 {
		time.Sleep(time.Second)
		for n, g := range ps.all {
			before := h.issued
			if h.take(ps.name, g); s > 60 {
				served[n] += h.issued - before
			}
		}
	}
	for n, g := range ps.all {
		if _, err := g.TryNext(); served[n] == 0 {
			for _, l := range h.log {
				h.Log(l)
			}
			h.Errorf("everybody answers again, and generator %d of %d of %s has no IDs: %v", n, len(ps.all), ps.name, err)
		}
	}
}

func TestWhole(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(12, 900)) { //nolint:gosec // none is negative
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &whole{rig: newRig(t), random: mrand.New(&shared{source: mrand.NewPCG(seed, 9)}), seen: map[core.ID]string{}}
				h.delay = []time.Duration{0, 300 * time.Millisecond, 3 * time.Second}[seed%3]
				h.upTo.Store(int64([]time.Duration{0, 0, 1500 * time.Millisecond}[seed%2+seed%2*(seed/6%2)]))
				if seed >= 12 { // in full length
					h.base = []time.Duration{0, 300 * time.Millisecond, 1300 * time.Millisecond, 2 * time.Second}[seed%4]
				}
				h.run(t, seed)
				t.Logf("%d IDs, longest start %v", h.issued, h.worst)
				if t.Failed() || testing.Verbose() {
					for _, l := range h.log {
						t.Log(l)
					}
				}
			})
		})
	}
}

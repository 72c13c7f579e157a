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

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

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

// whole is a process that is started again and again, with generators and a file, beside a generator
// that has none.
type whole struct {
	*rig
	random *mrand.Rand
	delay  time.Duration
	upTo   atomic.Int64  // a record takes up to that, in nanoseconds
	base   time.Duration // and that besides
	step   atomic.Int64  // of the process' clock, in nanoseconds
	seen   map[core.ID]string
	log    []string

	p     *process
	name  string
	all   []*core.Generator
	rival *core.Generator
}

func (h *whole) note(format string, args ...any) {
	h.log = append(h.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

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

// record takes its time on the disk, and fails at times.
func (h *whole) record(sync func(*os.File) error, f *os.File) error {
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

func (h *whole) generator(c coord.Coordinator, step *atomic.Int64) *core.Generator {
	ctx, cancel := context.WithTimeout(h.Context(), 40*time.Second)
	defer cancel()
	began := time.Now()
	g, err := core.New(ctx, c, core.Config{
		Layout: core.Layout{Epoch: time.Unix(0, 0).UTC(), Unit: time.Millisecond, TimeBits: 41, WorkerBits: 2, SequenceBits: 12},
		Logger: slog.New(slog.DiscardHandler), Clock: off{step},
	})
	h.note("%s: New after %v (away %t): %v", h.name, time.Since(began), h.away.Load(), err)
	return g
}

// take has a generator issue an ID, if it can.
func (h *whole) take(who string, g *core.Generator) bool {
	id, err := g.TryNext()
	if err != nil {
		return false
	}
	if before, twice := h.seen[id]; twice {
		h.Fatalf("%s issues %v again, which was issued by %s", who, id, before)
	}
	h.seen[id] = who + " " + time.Now().Format("04:05.000")
	return true
}

// launch makes generators, in a new process if there is none.
func (h *whole) launch(n int) {
	if h.name = fmt.Sprint("process ", n); h.p == nil {
		h.p = h.start()
		l := h.p.remote.(*link)
		l.before, l.after = h.trip, h.trip
	}
	h.all = nil
	for range 1 + h.random.IntN(2) {
		if g := h.generator(h.p.Coordinator, &h.step); g != nil {
			h.all = append(h.all, g)
		}
	}
}

// end closes the generators, each within a time, before the process or after it.
func (h *whole) end(killed bool, limit time.Duration) {
	if killed {
		h.p.kill()
	}
	for _, g := range h.all {
		ctx, cancel := context.WithTimeout(h.Context(), limit)
		h.note("%s: killed %t, Close: %v", h.name, killed, g.Close(ctx))
		cancel()
	}
}

func (h *whole) run() {
	h.server.Clock = present{}.UnixMicro
	h.sys = func(s *system) {
		h.disk.seam(s)
		sync := s.sync
		s.sync = func(f *os.File) error { return h.record(sync, f) }
	}
	beside := func() { h.rival = h.generator(memory(h, h.server), new(atomic.Int64)) }
	beside()
	h.launch(0)
	for n := range 1500 {
		for _, g := range h.all {
			h.take(h.name, g)
		}
		if h.rival != nil {
			h.take("rival", h.rival)
		}
		switch k := h.random.IntN(300); {
		case k < 6: // killed, or ended in order
			h.end(k < 4, 3*time.Second)
			h.p.kill()
			h.p = nil
			h.launch(n)
		case k < 8: // other generators on the same coordinator
			h.end(false, time.Duration(h.random.IntN(3000))*time.Millisecond)
			h.launch(n)
		case k < 10:
			h.away.Store(!h.away.Load())
			h.note("away %t", h.away.Load())
		case k < 11:
			h.server.Expire(h.random.IntN(4))
			h.note("a lease expires")
		case k < 12:
			_, _ = memory(h, h.server).Quarantine(h.Context(), time.Now().Add(time.Duration(h.random.IntN(30))*time.Second))
			h.note("quarantine")
		case k < 14:
			h.step.Store(int64(h.random.IntN(60_000)-30_000) * int64(time.Millisecond))
			h.note("the clock is off by %v", time.Duration(h.step.Load()))
		case k < 16:
			h.step.Store(0)
		case k < 17 && h.rival != nil:
			_ = h.rival.Close(h.Context())
			h.rival = nil
		case k < 17:
			beside()
		}
		time.Sleep(time.Duration(h.random.IntN(100)) * time.Millisecond)
	}
	h.recovers()
	h.end(true, 3*time.Second)
	if h.rival != nil {
		_ = h.rival.Close(h.Context())
	}
}

// recovers lets everybody answer again, though a slow disk stays slow: a minute later all generators
// have IDs, whatever happened before.
func (h *whole) recovers() {
	h.away.Store(false)
	h.step.Store(0)
	h.upTo.Store(0)
	served := map[*core.Generator]bool{}
	for s := range 120 {
		time.Sleep(time.Second)
		for _, g := range h.all {
			if h.take(h.name, g) && s > 60 {
				served[g] = true
			}
		}
	}
	if len(served) < len(h.all) {
		h.Errorf("everybody answers again, and %d of %d generators of %s have IDs", len(served), len(h.all), h.name)
	}
}

// TestWhole: whatever happens, no ID comes twice, and service is back when everybody answers.
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
				defer func() {
					if t.Failed() {
						for _, l := range h.log {
							t.Log(l)
						}
					}
				}()
				h.run()
			})
		})
	}
}

//go:build unix

package local

import (
	"context"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// workers are as many as there may be holders, of whom some have just crashed.
const workers = 6

// world is a back end, files, and processes that use them, to all of which anything may happen.
type world struct {
	*rig
	wire   *protocol.Coordinator // carries out what arrives late
	random *mrand.Rand
	broken atomic.Bool // the disk hangs, or is full
	calm   atomic.Bool // nothing happens any more

	mu      sync.Mutex
	procs   map[*proc]bool
	boot    int
	changed map[string]time.Time // when a file was, by its name
	kept    map[string]backup    // of files
	spans   map[int][]span       // what was stamped, by worker ID
	story   []string             // what has happened
	count   map[string]int       // how often
}

// span is ticks (from, to] that were stamped.
type span struct {
	from, to int64
	by       string
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

// say notes what happens, and counts it.
func (w *world) say(what, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told(what, format, args...)
}

func (w *world) told(what, format string, args ...any) {
	w.story = append(w.story, time.Now().Format("04:05.000 ")+what+": "+fmt.Sprintf(format, args...))
	w.count[what]++
}

// upTo is a time below a limit.
func (w *world) upTo(limit time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(limit)))
}

// stamp takes note of ticks. None is stamped twice, and each is granted.
func (w *world) stamp(p *proc, g coord.Grant, from, to int64) {
	end := int64(0)
	for _, s := range w.server.Slots() {
		if s.Worker == g.WorkerID {
			end = s.NotAfter
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() || from >= to {
		return
	}
	w.told("stamp", "%v: (%d, %d] of %v", p.name, from, to, g)
	for _, s := range w.spans[g.WorkerID] {
		if from < s.to && s.from < to {
			safetytest.Of(w).Errorf("%v stamps (%d, %d] of %v, of which %s has stamped (%d, %d]",
				p.name, from, to, g, s.by, s.from, s.to)
		}
	}
	if end < to {
		safetytest.Of(w).Errorf("%v stamps up to %d of %v, and what is stored ends at %d", p.name, to, g,
			end)
	}
	w.spans[g.WorkerID] = append(w.spans[g.WorkerID], span{from, to, p.name})
	p.stamped = time.Now()
}

// recovers lets everybody answer again: a while later each process stamps, whatever happened
// before.
func (w *world) recovers() {
	w.away.Store(false)
	w.broken.Store(false)
	w.calm.Store(true)
	time.Sleep(time.Minute)
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.procs {
		if idle := time.Since(p.stamped); idle > 20*time.Second {
			w.Errorf("everybody answers again, and %s has not stamped for %v", p.name, idle)
		}
	}
}

// raise raises the floor, because of windows that were forgotten: their holders may have stamped
// what is below it and nobody's.
func (w *world) raise() {
	floor, err := w.wire.Quarantine(w.Context(), time.Now().Add(w.upTo(14*time.Second)))
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	end := scale.Tick(floor.UnixMicro()) - 1
	w.told("floor", "%d", end)
	for _, s := range w.server.Slots() {
		if s.NotAfter < end {
			forgotten := span{s.NotAfter, end, "somebody who was forgotten"}
			w.spans[s.Worker] = append(w.spans[s.Worker], forgotten)
		}
	}
}

// mishap is something that no process does.
func (w *world) mishap() {
	switch w.random.IntN(11) {
	case 0, 1, 2:
		w.away.Store(!w.away.Load())
		w.say("away", "%t", w.away.Load())
	case 3, 4:
		w.broken.Store(!w.broken.Load())
		w.say("broken", "%t", w.broken.Load())
	case 5:
		w.raise()
	case 6:
		id := w.random.IntN(workers)
		w.say("expired", "worker ID %d", id)
		w.server.Expire(id)
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		for p := range w.procs {
			if crash := w.random.IntN(2) == 0; w.random.IntN(3) == 0 {
				w.told("end", "%s, crash %t", p.name, crash)
				p.dead.Store(crash)
				p.stopped.Store(true)
			}
		}
	}
}

// run runs processes on a file one after the other; without a name, they have none.
func (w *world) run(ctx context.Context, file string) {
	for n := 0; ctx.Err() == nil; n++ {
		p := &proc{world: w, name: fmt.Sprintf("%q %d", file, n)}
		if w.random.IntN(4) == 0 {
			p.offset = w.upTo(1600*time.Millisecond) - 800*time.Millisecond
		}
		c := p.start(file)
		w.mu.Lock()
		w.procs[p] = true
		w.mu.Unlock()
		var holders sync.WaitGroup
		for range 1 + w.random.IntN(2) {
			holders.Go(func() { p.live(ctx) })
		}
		holders.Wait()
		w.mu.Lock()
		delete(w.procs, p)
		w.mu.Unlock()
		if c != nil {
			(&process{c, w.rig}).kill()
			if p.dead.Store(true); w.random.IntN(2) == 0 {
				w.tamper(file)
			}
		}
		time.Sleep(w.upTo(2 * time.Second))
	}
}

// TestSimulation: whatever happens to processes, files, disks, requests and answers, no tick of a
// worker ID is stamped twice, and service is back when everybody answers.
func TestSimulation(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(fulltest.Rounds(20, 600)) { //nolint:gosec // none is negative
		inBubble(t, func(t *testing.T, r *rig) {
			w := &world{
				rig: r, wire: memoryCoordinator(t, r.server), count: count, procs: map[*proc]bool{},
				random:  mrand.New(&shared{source: mrand.NewPCG(seed, 7)}),
				changed: map[string]time.Time{}, kept: map[string]backup{}, spans: map[int][]span{},
			}
			ctx, cancel := context.WithCancel(t.Context())
			var units sync.WaitGroup
			for _, file := range []string{"a", "b", ""} {
				units.Go(func() { w.run(ctx, file) })
			}
			for range 60 {
				time.Sleep(w.upTo(3 * time.Second))
				w.mishap()
			}
			w.recovers()
			cancel()
			units.Wait()
			time.Sleep(time.Minute) // until all that is late has arrived
			if t.Failed() {
				t.Logf("seed %d:\n%s", seed, strings.Join(w.story, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Log(count)
	for _, what := range []string{
		"stamp", "renewed", "piece", "late", "hangs", "torn", "reboot",
		"back",
	} {
		if count[what] == 0 {
			t.Errorf("nothing was counted of: %s", what)
		}
	}
}

// journal is the log of a process.
type journal struct {
	slog.Handler
	p *proc
}

func (journal) Enabled(context.Context, slog.Level) bool { return true }

func (j journal) Handle(_ context.Context, r slog.Record) error {
	what := j.p.name
	r.Attrs(func(a slog.Attr) bool { what += ", " + a.String(); return true })
	j.p.say(r.Message, "%s", what)
	return nil
}

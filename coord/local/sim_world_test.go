//go:build unix

package local

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// world is one run: a back end, files, and processes that use them. One goroutine, the
// scheduler, decides what becomes of every request, every answer and every step of a disk.
type world struct {
	tb     testing.TB
	rng    *rand.Rand
	server *memstore.Server
	other  *memstore.Server // of another namespace
	wire   map[*memstore.Server]*protocol.Coordinator
	dir    string
	units  []*unit

	mu     sync.Mutex
	parked []*parcel
	ghosts []func() // requests that arrive late, or once more
	away   bool
	slow   bool          // the disk
	drags  time.Duration // the disk does: each record takes up to that
	boot   int
	step   time.Duration        // of the system's clock
	change map[uint64]time.Time // when a file was changed, by its inode
	kept   map[string]backup    // of files
	spans  map[place][]span     // what was stamped
	story  []string             // what has happened
	count  map[string]int       // how often
	failed bool
}

// place is a worker ID of a back end.
type place struct {
	server *memstore.Server
	worker int
}

// span is ticks (from, to] that were stamped.
type span struct {
	from, to int64
	by       string
}

// fate is what becomes of a parcel.
type fate int

const (
	passed   fate = iota
	refused       // an error at once
	dropped       // no answer
	late          // no answer, and it is carried out later
	repeated      // carried out, and once more later
	hangs         // it is decided later
	dies          // the process ends here
	torn          // likewise, in the middle of it
	after         // likewise, when it is done
)

// parcel is a request, an answer or a step of a disk that waits for the scheduler.
type parcel struct {
	p     *proc
	what  string
	n     int
	hung  time.Time // not decided before
	fate  chan fate
	local bool // of the disk
}

// say notes what happens.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told(format, args...)
}

func (w *world) told(format string, args ...any) {
	w.story = append(w.story, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// fail reports what must not happen. The caller holds mu.
func (w *world) fail(format string, args ...any) {
	w.told("FAIL: "+format, args...)
	if !w.failed {
		w.failed = true
		w.tb.Errorf(format, args...)
	}
}

// park waits for the scheduler's decision.
func (w *world) park(ctx context.Context, p *proc, what string, local bool, until time.Time) fate {
	w.mu.Lock()
	if p.dead {
		w.mu.Unlock()
		return dies
	}
	q := &parcel{p: p, what: what, n: p.parcels, fate: make(chan fate, 1), local: local, hung: until}
	p.parcels++
	w.parked = append(w.parked, q)
	w.mu.Unlock()
	select {
	case f := <-q.fate:
		return f
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(o *parcel) bool { return o == q })
	return dropped
}

// stamp takes note of ticks. None is stamped twice, and each is granted.
func (w *world) stamp(p *proc, g coord.Grant, from, to int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead {
		return false
	}
	at := place{p.server, g.WorkerID}
	for _, s := range w.spans[at] {
		if from < s.to && s.from < to {
			w.fail("worker ID %d: %v stamps (%d, %d] of %v, of which %s has stamped (%d, %d]", at.worker, p, from, to, g, s.by, s.from, s.to)
		}
	}
	w.spans[at] = append(w.spans[at], span{from, to, p.String()})
	w.count["stamps"]++
	w.told("%v (%s) stamps (%d, %d] of worker ID %d", p, coord.Describe(p.c).Place, from, to, g.WorkerID)
	return true
}

// granted notes that a process has a window, which the back end must have stored.
func (w *world) granted(p *proc, what string, g coord.Grant) {
	var end int64
	for _, s := range p.server.Slots() {
		if s.Worker == g.WorkerID {
			end = s.NotAfter
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told("%v has %v by %s", p, g, what)
	w.count[what]++
	if !p.dead && g.NotAfter > g.NotBefore && end < g.NotAfter {
		w.fail("%v has %v by %s, and what is stored ends at %d", p, g, what, end)
	}
	if p.layout != p.server.Meta().Fingerprint {
		w.fail("%v has %v by %s, and another layout than the namespace", p, g, what)
	}
}

// turn lets one thing happen; false: something has failed.
func (w *world) turn() bool {
	synctest.Wait()
	w.mu.Lock()
	slices.SortStableFunc(w.parked, func(a, b *parcel) int {
		return cmp.Or(cmp.Compare(a.p.unit.id, b.p.unit.id), cmp.Compare(a.what, b.what), cmp.Compare(a.n, b.n))
	})
	now := time.Now()
	ready := slices.DeleteFunc(slices.Clone(w.parked), func(q *parcel) bool { return now.Before(q.hung) })
	var ghost func()
	if n := len(w.ghosts); n > 0 && w.rng.IntN(25) == 0 {
		i := w.rng.IntN(n)
		ghost = w.ghosts[i]
		if w.rng.IntN(3) > 0 {
			w.ghosts = slices.Delete(w.ghosts, i, i+1)
		}
	}
	if len(ready) > 0 && w.rng.IntN(10) > 0 {
		q := ready[w.rng.IntN(len(ready))]
		w.parked = slices.DeleteFunc(w.parked, func(o *parcel) bool { return o == q })
		f := w.decide(q)
		if f != passed {
			w.told("%v: %s: %d", q.p, q.what, f)
		}
		q.fate <- f
		if f == dies || f == torn || f == after {
			w.crash(q.p)
		}
		ready = nil
	} else {
		ready = w.parked
	}
	var pause time.Duration
	switch {
	case w.rng.IntN(15) == 0:
		w.mishap()
	case ready != nil || w.rng.IntN(6) == 0:
		pause = time.Duration(1+w.rng.IntN(250)) * time.Millisecond
	}
	if ghost != nil {
		w.count["ghosts"]++
		go ghost()
	}
	failed := w.failed
	w.mu.Unlock()
	time.Sleep(pause)
	return !failed
}

// decide chooses the fate of a parcel. The caller holds mu.
func (w *world) decide(q *parcel) fate {
	n := w.rng.IntN(90)
	switch {
	case q.what == "sync" && w.drags > 0 && q.hung.IsZero():
		return hangs
	case q.what == "release" && w.drags > 0 && n < 30:
		return late
	case !q.local && w.away:
		return []fate{refused, dropped, late}[w.rng.IntN(3)]
	case !q.local:
		return []fate{refused, dropped, late, repeated, dies, passed}[min(n, 5)]
	case w.slow && n < 60 && q.hung.IsZero():
		return []fate{refused, hangs, passed}[n%3]
	}
	return []fate{refused, hangs, dies, torn, after, passed}[min(n, 5)]
}

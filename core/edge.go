package core

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock"
)

const (
	// timerSlack is how late a timer of the Go runtime may ring on an idle machine,
	// where the poller counts in whole milliseconds.
	timerSlack = 1200 * time.Microsecond
	// napSlack is how late a nap usually ends, and a bit more: the rest of the way is
	// spun, so that the first ID of a tick is not late. On a busy machine some naps end
	// later; whoever spins instead is taken off the processor sooner.
	napSlack = 100 * time.Microsecond
	// relaxedLead is from how much lead on being late costs nothing: the generator is
	// ahead by more than a timer's lateness, and catches up.
	relaxedLead = 2 * time.Millisecond
	// spinsAtMost bounds the spinning on a clock that stands still.
	spinsAtMost = 1 << 12
)

// edges lets one goroutine wait for an edge of the clock on behalf of all who need
// it: it sleeps, then spins for the last bit, and wakes the others, who are parked.
type edges struct {
	mu      sync.Mutex
	current *edge
}

// edge is one wait for the clock to read at, in microseconds since 1970.
type edge struct {
	at      int64
	reached chan struct{}
}

// join returns the wait that is under way if it ends at or before at. Otherwise it
// begins a new one, and the caller has to lead it.
func (e *edges) join(at int64) (w *edge, lead bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != nil && e.current.at <= at {
		return e.current, false
	}
	e.current = &edge{at: at, reached: make(chan struct{})}
	return e.current, true
}

// leave ends a wait and wakes everybody who joined it.
func (e *edges) leave(w *edge) {
	e.mu.Lock()
	if e.current == w {
		e.current = nil
	}
	e.mu.Unlock()
	close(w.reached)
}

// awaitEdge waits until the clock allows the tick that attempt a waits for, or
// changed is closed, or ctx ends, or there is another reason to look again.
func (g *Generator) awaitEdge(ctx context.Context, changed <-chan struct{}, a *attempt) {
	at := g.scale.Micro(a.tick - g.rule.lead)
	// More than this is left only if the clock has stepped back since the attempt.
	most := at - g.scale.Micro(a.now)
	ended := ctx.Done()
	w, lead := g.edges.join(at)
	if !lead {
		pause(w.reached, changed, ended)
		return
	}
	// Whoever leads also wakes the others when it is called away. One of them then
	// leads.
	defer g.edges.leave(w)
	if c, ok := g.clock.(clock.Alarmer); ok {
		ring, stop := c.Alarm(at)
		defer stop()
		// A step back after this reading rings, one before it shows here.
		if at-clock.Fresh(g.clock) <= most { //mutant:edge-fresh
			pause(ring, changed, ended)
		}
		return
	}
	g.approach(at, most, changed, ended)
}

// pause waits for the first of three channels, and tells whether it was ring.
func pause[T any](ring <-chan T, changed, ended <-chan struct{}) bool {
	select {
	case <-ring:
		return true
	case <-changed:
	case <-ended:
	}
	return false
}

// approach waits until the clock reads at: with a timer while it is far, with a nap
// when it is near, spinning at the end. It gives up if more than most is left: then the
// clock has stepped back, which is for the caller to judge.
func (g *Generator) approach(at, most int64, changed, ended <-chan struct{}) {
	relaxed := g.rule.lead*g.scale.Unit >= relaxedLead.Microseconds()
	for spins := 0; ; {
		left := at - clock.Fresh(g.clock)
		d := time.Duration(left) * time.Microsecond
		switch {
		case left <= 0 || left > most:
			return
		case relaxed || d > 2*timerSlack:
			if !relaxed {
				d -= timerSlack
			}
			t := time.NewTimer(d)
			again := pause(t.C, changed, ended)
			if t.Stop(); !again {
				return
			}
			continue
		case d > 2*napSlack:
			nap(d - napSlack)
		case spins > spinsAtMost:
			nap(napSlack)
		default:
			spins++
			runtime.Gosched()
		}
		select {
		case <-changed:
			return
		case <-ended:
			return
		default:
		}
	}
}

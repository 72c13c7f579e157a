// Package sim runs the real decision code of package protocol against a back end in
// memory, with a scheduler that a seed decides: several coordinators, requests and
// answers that are lost, late or repeated, state that is rolled back or deleted, leases
// that end, operators, wrong clocks, and holders that die. A ledger of stamped ticks
// decides whether the promise was kept. A seed repeats exactly. What hardly ever comes
// together by chance is a plot.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// The times of all leases. A tick is long, so that windows meet often.
const (
	ttl        = 6 * time.Second
	horizon    = 10 * time.Second
	maxHorizon = 10 * time.Second
	tickLength = 10 * time.Millisecond
)

// space is the layout of the namespace.
var space = coord.Space{
	Fingerprint: "sim", LastTick: 1<<40 - 1, Capacity: workers,
	Scale: clock.Scale{
		Epoch: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
		Unit:  tickLength.Microseconds(),
	},
}

const (
	workers   = 5
	processes = 3
	each      = 2 // actors of a process
)

// world is one run.
type world struct {
	tb     testing.TB
	rng    *rand.Rand
	server *memstore.Server
	ledger ledger
	procs  []*process
	actors []*actor
	serve  *process          // only its calls are passed on; nil: all
	cut    func(*actor) bool // whose calls are not passed on; nil: nobody's
	plot   plot              // mishaps to come
	waited int               // steps, for the next of them
	skew   time.Duration     // how far clocks may be apart
	share  int               // how many worker IDs are granted
	// longest is the horizon that the namespace is declared with, which is longer than
	// maxHorizon; 0: none.
	longest time.Duration

	kept     []backup
	lossy    bool   // there is a loss in this run
	history  int    // counts the losses
	restored string // the nonce of the loss on record just after the loss
	survivor *actor // a holder who is to notice it; nil: nobody is
	heir     *actor // a holder whose successor is to notice it; nil: nobody is
	// unanswered has raised the floor, and is not to know whether it has; nil: nobody is.
	unanswered  *actor
	slow        *actor // whose next request the network holds back; nil: nobody's
	slowAnswers bool   // or, whose next answer
	due         bool   // somebody has to notice the loss
	far         bool   // a wrong clock has raised the floor
	named       bool   // and an error says how to lower it
	slowest     time.Duration
	calm        bool  // nothing happens any more
	base        int64 // the highest tick that is stamped elsewhere
	reached     int64 // the highest tick of a window that was stored
	retired     bool

	mu     sync.Mutex
	parked []*parcel
	lost   []*parcel // of calls that wait all the same
	ghosts []func()  // requests that arrive late, or once more
	trace  uint64    // of what has happened

	counts
}

// declaredHorizon is the longest horizon of the namespaces that are declared with one.
const declaredHorizon = 3 * maxHorizon

// space is the namespace as it is declared.
func (w *world) space() coord.Space {
	s := space
	s.MaxHorizon = w.longest
	return s
}

// declare has an operator declare the namespace, if it is to have long windows: nobody
// else can. Every third seed has such a namespace.
func (w *world) declare(seed uint64) {
	if seed%3 != 0 || w.server.Strict {
		return
	}
	w.longest = declaredHorizon
	w.operate("declare", func(ctx context.Context, c *protocol.Coordinator) error {
		return c.Init(ctx, w.space())
	})
}

// parcel is a request or an answer that waits for the network.
type parcel struct {
	from   *actor
	lane   int // of the actor's: a call that is made beside another has one of its own
	n      int // of those of the lane
	what   string
	answer bool
	fate   chan fate
	due    time.Time // when it can arrive
	// dawdles is for how long an answer that has arrived waits until the call goes on: others may
	// come meanwhile.
	dawdles time.Duration
}

// fate is what the network does with a parcel.
type fate int

const (
	passed fate = iota
	lost
	repeated // passed, and once more later
	delayed  // lost, and passed later
)

// step lets one thing happen.
func (w *world) step() {
	w.wait()
	w.mu.Lock()
	slices.SortFunc(w.parked, byLane)
	ready := slices.DeleteFunc(slices.Clone(w.parked), func(p *parcel) bool {
		switch {
		case w.serve != nil:
			return p.from.p != w.serve || p.answer && p.due.After(time.Now())
		case w.cut != nil && w.cut(p.from):
			return true
		}
		return !w.calm && w.survivor == nil && p.due.After(time.Now())
	})
	var chosen *parcel
	if len(ready) > 0 {
		chosen = ready[w.rng.IntN(len(ready))]
		if w.holdBack(chosen) {
			w.mu.Unlock()
			return
		}
		w.parked = slices.DeleteFunc(w.parked, func(p *parcel) bool { return p == chosen })
	}
	w.mu.Unlock()
	switch {
	case w.serve == nil && w.survivor == nil && !w.calm && w.rng.IntN(60) == 0:
		w.haunt()
	case chosen == nil:
		w.pass(time.Duration(1+w.rng.IntN(300)) * time.Millisecond)
		return
	}
	if chosen != nil {
		f, needed := passed, w.serve != nil || w.survivor == chosen.from
		switch {
		case w.calm:
		case chosen.answer && chosen.from == w.unanswered:
			f, w.unanswered = lost, nil
		case !needed:
			f = []fate{lost, delayed, repeated, passed}[min(w.rng.IntN(24), 3)]
		}
		if chosen.answer && !w.calm {
			w.dawdle(chosen)
		}
		w.note(fmt.Sprintf("%s %t %d %d %d", chosen.what, chosen.answer, chosen.from.id, chosen.lane, f))
		chosen.fate <- f
		if needed && chosen.what == "commit" && !chosen.answer && w.rng.IntN(4) == 0 {
			if w.wait(); w.isNoticed() {
				w.unanswered = chosen.from
			}
		}
	}
	if w.rng.IntN(8) == 0 {
		w.pass(time.Duration(1+w.rng.IntN(40)) * time.Millisecond)
	}
	if w.serve != nil || w.calm {
		return
	}
	w.wait() // what was passed has arrived
	if w.survivor != nil && w.isNoticed() {
		w.mu.Lock()
		w.survivor = nil
		w.mu.Unlock()
	}
	switch {
	case w.survivor != nil: // a holder who lives is not kept from renewing
	case len(w.plot) > 0:
		w.play()
	case w.rng.IntN(20) == 0:
		w.mishap()
	}
}

// mostHeldBack is for how long the network holds a parcel back at the most, and mostDawdling for
// how long an answer waits in a process.
const mostHeldBack, mostDawdling = 8 * time.Second, time.Second

// holdBack has the network hold a parcel back now and then, so that it arrives after those that
// were sent later. The caller holds mu.
func (w *world) holdBack(p *parcel) bool {
	held := time.Duration(w.rng.Int64N(int64(mostHeldBack)))
	switch {
	case w.calm || w.serve != nil || w.survivor != nil || !p.due.IsZero():
		return false
	case p.from == w.slow && p.answer == w.slowAnswers:
		w.slow = nil
		held = 2 * ttl / 3 // its lease stands
	case w.rng.IntN(24) > 0:
		return false
	}
	p.due = time.Now().Add(held)
	w.note(fmt.Sprintf("held back: %s %t %d %d", p.what, p.answer, p.from.id, p.lane))
	return true
}

// dawdle has the call of an answer go on only after a while, now and then: when another answer of
// the process has come that was late.
func (w *world) dawdle(answer *parcel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.parked, func(p *parcel) bool {
		return p.from.p == answer.from.p && p.answer && p.due.After(time.Now())
	})
	switch {
	case i >= 0 && w.rng.IntN(2) == 0:
		w.parked[i].due = time.Now()
		answer.dawdles = mostDawdling - time.Duration(w.rng.Int64N(int64(time.Millisecond)))
	case w.rng.IntN(8) == 0:
		answer.dawdles = time.Duration(w.rng.Int64N(int64(mostDawdling)))
	}
}

// wait waits until all actors wait: from then on the scheduler reads what is theirs.
func (w *world) wait() {
	synctest.Wait()
	w.meet()
}

// meet is where the scheduler and an actor pass on to each other what they have written.
func (w *world) meet() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// haunt has a request arrive late, or once more.
func (w *world) haunt() {
	if len(w.ghosts) == 0 {
		return
	}
	i := w.rng.IntN(len(w.ghosts))
	ghost := w.ghosts[i]
	if w.rng.IntN(2) == 0 {
		w.ghosts = slices.Delete(w.ghosts, i, i+1)
	}
	w.note("ghost")
	ghost()
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// note adds what the scheduler does to the trace.
func (w *world) note(what string) {
	for i := range len(what) {
		w.trace = (w.trace ^ uint64(what[i])) * 1099511628211
	}
	w.say(what)
}

// say prints what happens, if that is wanted.
func (w *world) say(what string) {
	if verbose {
		w.tb.Logf("%s %s", time.Now().Format("04:05.000"), what)
	}
}

var verbose bool

// Package sim runs the real decision code of package protocol against a back end in
// memory, with a scheduler that a seed decides: several coordinators, requests and
// answers that are lost, late or repeated, state that is rolled back or deleted, leases
// that end, operators, wrong clocks, and holders that die. A ledger of stamped ticks
// decides whether the promise was kept. A seed repeats exactly.
package sim

import (
	"cmp"
	"context"
	"errors"
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
	skewBound  = time.Second
	tickLength = 10 * time.Millisecond
)

// space is the layout of the namespace.
var space = coord.Space{
	Fingerprint: "sim", LastTick: 1<<40 - 1, Capacity: workers,
	Scale: clock.Scale{Epoch: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: tickLength.Microseconds()},
}

const (
	workers   = 4
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
	serve  *process // only its calls are passed on; nil: all
	kept   []func()

	mu     sync.Mutex
	parked []*parcel
	ghosts []func() // requests that arrive late, or once more
	trace  uint64   // of what has happened

	stamps, renewals, resumed int64
}

// parcel is a request or an answer that waits for the network.
type parcel struct {
	from *actor
	lane int // of the actor's: a call that is made beside another has one of its own
	n    int // of those of the lane
	what string
	fate chan fate
}

// fate is what the network does with a parcel.
type fate int

const (
	passed fate = iota
	lost
	repeated // passed, and once more later
	late     // lost, and passed later
)

// step lets one thing happen.
func (w *world) step() {
	synctest.Wait()
	w.mu.Lock()
	slices.SortFunc(w.parked, func(a, b *parcel) int {
		return cmp.Or(cmp.Compare(a.from.id, b.from.id), cmp.Compare(a.lane, b.lane), cmp.Compare(a.n, b.n))
	})
	ready := slices.DeleteFunc(slices.Clone(w.parked), func(p *parcel) bool { return w.serve != nil && p.from.p != w.serve })
	var chosen *parcel
	if len(ready) > 0 {
		chosen = ready[w.rng.IntN(len(ready))]
		w.parked = slices.DeleteFunc(w.parked, func(p *parcel) bool { return p == chosen })
	}
	w.mu.Unlock()
	switch {
	case w.rng.IntN(60) == 0:
		w.haunt()
	case chosen == nil:
		w.pass(time.Duration(1+w.rng.IntN(300)) * time.Millisecond)
		return
	}
	if chosen != nil {
		f := passed
		if w.serve == nil {
			f = []fate{lost, late, repeated, passed}[min(w.rng.IntN(24), 3)]
		}
		w.note(fmt.Sprintf("%s %d %d %d %d", chosen.what, chosen.from.id, chosen.lane, chosen.n, f))
		chosen.fate <- f
	}
	if w.rng.IntN(8) == 0 {
		w.pass(time.Duration(1+w.rng.IntN(40)) * time.Millisecond)
	}
	if w.serve == nil && w.rng.IntN(60) == 0 {
		synctest.Wait() // what was passed has arrived
		w.mishap()
	}
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

// mishap does to the back end what nobody wants.
func (w *world) mishap() {
	switch w.rng.IntN(6) {
	case 0, 1:
		id := w.rng.IntN(workers)
		w.note(fmt.Sprint("lease ends: ", id))
		w.server.Expire(id)
	case 2:
		w.operate("quarantine", func(ctx context.Context, c *protocol.Coordinator) error {
			_, err := c.Quarantine(ctx, time.Now().Add(time.Duration(w.rng.IntN(5000))*time.Millisecond))
			return err
		})
	case 3:
		w.operate("lower", func(ctx context.Context, c *protocol.Coordinator) error {
			_, err := c.Lower(ctx)
			return err
		})
	case 4:
		p := w.procs[w.rng.IntN(len(w.procs))]
		p.clock.set(time.Duration(w.rng.Int64N(int64(4*skewBound))) - 2*skewBound)
		w.note(fmt.Sprint("clock of process ", p.id))
	case 5:
		w.lose()
	}
}

// operate has an operator with a right clock make a call, which nobody comes between.
//
// An operator waits for the leases of holders who may be dead.
func (w *world) operate(what string, call func(context.Context, *protocol.Coordinator) error) {
	c := newCoordinator(w.tb, memstore.Store{Server: w.server}, w.server, rightClock{}, w.rng.Int64N)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := call(ctx, c)
	w.note(fmt.Sprint(what, ": ", err == nil))
}

// lose rolls the back end back to an earlier state, or deletes the namespace. What comes
// then is what the documentation asks for: an operator quarantines the namespace before
// anybody is served, or one who has seen the last of what was lost is served first.
func (w *world) lose() {
	if len(w.kept) == 0 {
		w.kept = append(w.kept, w.server.Snapshot())
		return
	}
	number := w.server.Number()
	var witnesses []*process
	for _, p := range w.procs {
		if p.saw == number {
			witnesses = append(witnesses, p)
		}
	}
	if w.rng.IntN(4) == 0 {
		w.server.Delete()
		w.note("loss: the namespace is deleted")
	} else {
		i := w.rng.IntN(len(w.kept))
		w.kept[i]() // it stays: there may be a second loss to the same state
		w.note(fmt.Sprintf("loss: rolled back from %d to %d", number, w.server.Number()))
	}
	for _, p := range w.procs {
		p.saw = 0
	}
	for range w.rng.IntN(4) { // what the network repeats waits for nobody
		w.haunt()
	}
	if w.rng.IntN(2) == 0 {
		w.server.Move(fmt.Sprint("lineage ", w.rng.IntN(3)))
	}
	if len(witnesses) > 0 && w.rng.IntN(2) == 0 {
		w.witnessed(witnesses[w.rng.IntN(len(witnesses))])
		return
	}
	w.declareLoss()
}

// witnessed serves nobody but one process until the floor was raised, or it takes too long.
func (w *world) witnessed(p *process) {
	w.note(fmt.Sprint("witness: ", p.id))
	before := w.server.Meta().Loss.Nonce
	w.serveOnly(p)
	for range 200 {
		w.step()
		if now := w.server.Meta().Loss.Nonce; now != "" && now != before {
			w.serveOnly(nil)
			return
		}
	}
	w.declareLoss()
	w.serveOnly(nil)
}

// serveOnly serves nobody but one process; nil: all.
func (w *world) serveOnly(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serve = p
}

// needs reports whether a process is a witness, which is not to die.
func (w *world) needs(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.serve == p
}

// declareLoss has an operator say that writes were lost.
func (w *world) declareLoss() {
	w.operate("declare the loss", func(ctx context.Context, c *protocol.Coordinator) error {
		if err := c.Init(ctx, space); err != nil && !errors.Is(err, coord.ErrInvalid) {
			return err
		}
		_, err := c.Quarantine(ctx, time.Time{})
		if err != nil {
			w.tb.Errorf("an operator cannot declare a loss: %v", err)
		}
		return err
	})
}

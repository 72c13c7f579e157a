package core

import (
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// cacheLine is the distance that keeps two words from sharing a cache line. Many
// processors fetch lines of 64 bytes in pairs, hence twice that.
const cacheLine = 128

// noWorker is the worker ID of a term that stands for none.
const noWorker = -1

// term is one grant inside a running generator: a worker ID, a window, and the
// state word of the IDs stamped under it. Each term has a state word of its own,
// so a goroutine that was stalled in the middle of a call can only ever write into
// the worker ID that it began with.
type term struct {
	_     [cacheLine]byte
	state atomic.Uint64 // the last word stamped; see rule
	_     [cacheLine - 8]byte

	notAfter atomic.Int64 // the end of the window; only goes up
	// The rest is written before the term is published and never after.
	worker     uint64 // the worker ID, shifted to its place in an ID
	start      uint64 // the state word that the term began with: nothing stamped
	carried    bool   // start is the tick of an ID that an earlier term stamped
	seed       uint64 // of the hash that picks first sequence numbers
	workerID   int
	generation uint64
	notBefore  int64
	began      time.Time
	_          [cacheLine]byte
}

// newTerm makes a term for the window of g that begins above stamped, the tick of the
// last ID of the terms before; 0: there is none. now is the generator's clock.
func newTerm(r *rule, g coord.Grant, stamped int64, now time.Time) *term {
	t := &term{
		worker:     uint64(g.WorkerID) << r.shift,
		start:      r.startWord(max(g.NotBefore, stamped)), //mutant:swap-order
		carried:    stamped > 0 && stamped >= g.NotBefore,
		seed:       seedOf(g),
		workerID:   g.WorkerID,
		generation: g.Generation,
		notBefore:  g.NotBefore,
		began:      now,
	}
	t.state.Store(t.start)
	t.notAfter.Store(g.NotAfter)
	return t
}

// extend moves the end of the window, never back: renewals may return out of
// order.
func (t *term) extend(notAfter int64) {
	for {
		old := t.notAfter.Load()
		if notAfter <= old || t.notAfter.CompareAndSwap(old, notAfter) { //mutant:extend
			return
		}
	}
}

// close shuts the gate for good and returns the word that it closed on. No ID
// above that word has been stamped under this term or ever will be: every stamp
// is a compare-and-swap from an open word. The first call alone reports true.
func (t *term) close() (word uint64, first bool) {
	old := t.state.Or(closedBit)
	return old &^ closedBit, old&closedBit == 0
}

// seedOf derives the seed of a term from its grant: the same for everybody who
// asks about this term, and different for the next one.
func seedOf(g coord.Grant) uint64 {
	seed := mix(uint64(g.WorkerID)) ^ mix(g.Generation)
	for _, c := range []byte(g.Token) {
		seed = mix(seed ^ uint64(c))
	}
	return seed
}

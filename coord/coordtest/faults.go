package coordtest

import (
	"errors"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Op is an operation of a coordinator.
type Op int

// The operations that faults are asked for.
const (
	Acquire Op = iota
	Renew
	Release
	Resume
	numOps
)

// String returns the name of the method.
func (o Op) String() string {
	switch o {
	case Acquire:
		return "Acquire"
	case Renew:
		return "Renew"
	case Release:
		return "Release"
	case Resume:
		return "Resume"
	}
	return "unknown operation"
}

// Forever is the count of a fault that lasts until [Fake.Heal].
const Forever = -1

// ErrUnreachable is the error of a back end that refuses connections.
var ErrUnreachable = errors.New("coordtest: back end unreachable")

type faultKind int

const (
	noFault faultKind = iota
	failCall
	loseRequest
	loseReply
	delayRequest
	delayReply
	holdRequest
)

// fault is what happens to the next n calls of an operation.
type fault struct {
	kind  faultKind
	n     int
	err   error
	delay time.Duration
	held  *Held
}

// Fail lets the next n calls of op fail at once with err. The back end does not
// see them.
func (f *Fake) Fail(op Op, err error, n int) { f.plan(op, fault{kind: failCall, n: n, err: err}) }

// LoseRequests lets the next n calls of op get lost on their way to the back end.
// The caller waits until its context ends.
func (f *Fake) LoseRequests(op Op, n int) { f.plan(op, fault{kind: loseRequest, n: n}) }

// LoseReplies lets the back end do the next n calls of op, and the caller wait for
// the reply until its context ends.
func (f *Fake) LoseReplies(op Op, n int) { f.plan(op, fault{kind: loseReply, n: n}) }

// DelayRequests lets the next n calls of op reach the back end d later. They do so
// even when the caller has given up by then, as requests in a network do.
func (f *Fake) DelayRequests(op Op, d time.Duration, n int) {
	f.plan(op, fault{kind: delayRequest, n: n, delay: d})
}

// DelayReplies lets the back end do the next n calls of op at once and the reply
// take d.
func (f *Fake) DelayReplies(op Op, d time.Duration, n int) {
	f.plan(op, fault{kind: delayReply, n: n, delay: d})
}

// HoldBack keeps the next n calls of op back until they are delivered, after later
// calls perhaps: this is how requests are reordered.
func (f *Fake) HoldBack(op Op, n int) *Held {
	h := &Held{fake: f}
	f.plan(op, fault{kind: holdRequest, n: n, held: h})
	return h
}

// Held are requests that are kept back, see [Fake.Hold].
type Held struct {
	fake     *Fake
	requests []heldRequest
}

type heldRequest struct {
	call  *record
	reply chan<- result
}

// Len returns how many requests have been kept back and not delivered yet.
func (h *Held) Len() int {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	return len(h.requests)
}

// Deliver lets the requests reach the back end, in the order in which they were
// made, whether or not their callers still wait.
func (h *Held) Deliver() {
	h.fake.mu.Lock()
	requests := h.requests
	h.requests = nil
	h.fake.mu.Unlock()
	for _, r := range requests {
		r.reply <- h.fake.apply(r.call)
	}
}

// Outage with true makes all calls from then on wait until their contexts end, as
// behind a dead link; their requests are lost, even if the outage ends meanwhile.
// Outage with false ends it.
func (f *Fake) Outage(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = nil
	if on {
		f.outage = &fault{kind: loseRequest, n: Forever}
	}
}

// Refuse with true makes all calls from then on fail at once with an error that
// wraps [ErrUnreachable], as a stopped server does. Refuse with false ends it.
func (f *Fake) Refuse(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = nil
	if on {
		f.outage = &fault{kind: failCall, n: Forever, err: ErrUnreachable}
	}
}

// Recover ends an outage and drops all faults that were asked for and not used.
// Requests that are held back or under way stay so.
func (f *Fake) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = nil
	f.faults = [numOps][]fault{}
}

// Replay lets the back end do a call of [Fake.Calls] once more, as when a network
// delivers a request twice, and returns the reply that nobody waits for.
func (f *Fake) Replay(c Call) (coord.Grant, error) {
	r := f.apply(&record{Call: c})
	return r.grant, r.err
}

func (f *Fake) plan(op Op, ft fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft.n != 0 && op >= 0 && op < numOps {
		f.faults[op] = append(f.faults[op], ft)
	}
}

// nextFault uses up one fault of op. The lock is held.
func (f *Fake) nextFault(op Op) fault {
	if f.outage != nil {
		return *f.outage
	}
	queue := f.faults[op]
	if len(queue) == 0 {
		return fault{}
	}
	ft := queue[0]
	if ft.n > 0 {
		queue[0].n--
		if queue[0].n == 0 {
			f.faults[op] = slices.Delete(queue, 0, 1)
		}
	}
	return ft
}

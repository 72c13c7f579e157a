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
	if o < 0 || o >= numOps {
		return "unknown operation"
	}
	return [numOps]string{"Acquire", "Renew", "Release", "Resume"}[o]
}

// Forever is the count of a fault that lasts until [Fake.Heal].
const Forever = -1

// ErrUnreachable is the error of a back end that refuses connections.
var ErrUnreachable = errors.New("coordtest: back end unreachable")

// transit is how long a request or a reply is under way.
type transit time.Duration

// lost is one that never arrives.
const lost transit = -1

// then has something done when it has arrived.
func (d transit) then(do func()) {
	switch {
	case d == 0:
		do()
	case d > 0:
		time.AfterFunc(time.Duration(d), do)
	}
}

// fault is what happens to the next n calls of an operation.
type fault struct {
	n              int
	err            error
	request, reply transit
	held           *Held
}

// Fail lets the next n calls of op fail at once with err. The back end does not
// see them.
func (f *Fake) Fail(op Op, err error, n int) { f.plan(op, fault{n: n, err: err}) }

// LoseRequests lets the next n calls of op get lost on their way to the back end.
// The caller waits until its context ends.
func (f *Fake) LoseRequests(op Op, n int) { f.plan(op, fault{n: n, request: lost}) }

// LoseReplies lets the back end do the next n calls of op, and the caller wait for
// the reply until its context ends.
func (f *Fake) LoseReplies(op Op, n int) { f.plan(op, fault{n: n, reply: lost}) }

// DelayRequests lets the next n calls of op reach the back end d later. They do so
// even when the caller has given up by then, as requests in a network do.
func (f *Fake) DelayRequests(op Op, d time.Duration, n int) {
	f.plan(op, fault{n: n, request: transit(d)})
}

// DelayReplies lets the back end do the next n calls of op at once and the reply
// take d.
func (f *Fake) DelayReplies(op Op, d time.Duration, n int) {
	f.plan(op, fault{n: n, reply: transit(d)})
}

// HoldBack keeps the next n calls of op back until they are delivered, after later
// calls perhaps: this is how requests are reordered.
func (f *Fake) HoldBack(op Op, n int) *Held {
	h := &Held{fake: f}
	f.plan(op, fault{n: n, request: lost, held: h})
	return h
}

// Held are requests that are kept back, see [Fake.HoldBack].
type Held struct {
	fake     *Fake
	requests []func()
}

// Deliver lets the requests reach the back end, in the order in which they were
// made, whether or not their callers still wait.
func (h *Held) Deliver() {
	h.fake.mu.Lock()
	requests := h.requests
	h.requests = nil
	h.fake.mu.Unlock()
	for _, arrive := range requests {
		arrive()
	}
}

// Outage with true makes all calls from then on wait until their contexts end, as
// behind a dead link; their requests are lost, even if the outage ends meanwhile.
// Outage with false ends it.
func (f *Fake) Outage(on bool) { f.down(on, fault{request: lost}) }

// Refuse with true makes all calls from then on fail at once with an error that
// wraps [ErrUnreachable], as a stopped server does. Refuse with false ends it.
func (f *Fake) Refuse(on bool) { f.down(on, fault{err: ErrUnreachable}) }

func (f *Fake) down(on bool, ft fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outage = nil; on {
		f.outage = &ft
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
	r := f.apply(&c)
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

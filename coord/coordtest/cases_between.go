package coordtest

import (
	"context"
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// BetweenHarness is a [Harness] whose back end something can happen to between two
// calls of one operation.
type BetweenHarness struct {
	Harness
	// Before has act called once, before the n-th call that c makes to its back end from
	// now on, counted from 1. No call of c is under way while act runs. If act is nil, the
	// answer to that call is lost instead: it is done, and c learns that it cannot know. Acted
	// reports whether there were so many calls.
	Before func(c coord.Coordinator, n int, act func()) (acted func() bool)
	// Lose makes a backup of the back end's state. When restore returns, the back end has
	// lost everything since.
	Lose func(tb testing.TB) (restore func())
}

// RunBetween holds a driver to the rules where an operator raises the floor, the back
// end loses its state, or the caller gives up, before each of the calls that an
// operation makes to its back end, or where the answer to it is lost. Each time it asks for
// a new harness.
func RunBetween(t *testing.T, newHarness func(tb testing.TB) BetweenHarness) {
	events := map[string]func(*between){
		"Operator": operatorBetween, "Loss": lossBetween, "GivenUp": givenUpBetween,
		"LostReply": lostReplyBetween,
	}
	for _, op := range betweenOps {
		for name, run := range events {
			t.Run(name+op.name, func(t *testing.T) {
				for n := 1; ; n++ {
					h := newHarness(t)
					b := &between{op: op, h: h, n: n, acted: func() bool { return false }}
					runCase(t, testCase{op.name, func(s *suite) {
						b.party = s.client(2)
						b.req = b.request()
						run(b)
					}}, h.Harness, callTimeout)
					if b.acted() {
						continue
					}
					if n == 1 {
						t.Error("the operation makes no call")
					}
					return
				}
			})
		}
	}
}

// betweenOp is an operation, on what prepare has returned. It returns the grant that
// holds afterwards; the zero Grant if there is none.
type betweenOp struct {
	name    string
	prepare func(b *between)
	run     func(ctx context.Context, b *between) (coord.Grant, error)
}

var betweenOps = []betweenOp{
	{"Acquire", func(*between) {}, acquireOnce},
	{"AcquireAgain", func(b *between) {
		b.req.Identity = "the-same"
		first := b.request()
		first.Identity = b.req.Identity
		b.release(b.acquireWith(first), b.now)
	}, acquireOnce},
	{"Renew", acquireFirst, func(ctx context.Context, b *between) (coord.Grant, error) {
		return b.Renew(ctx, b.held, b.held.NotAfter+b.horizon/2)
	}},
	{"Resume", acquireFirst, func(ctx context.Context, b *between) (coord.Grant, error) {
		return b.resumer().Resume(ctx, withoutHandle(b.held), b.req.Token, b.held.NotAfter+b.horizon/2)
	}},
	{"Release", acquireFirst, func(ctx context.Context, b *between) (coord.Grant, error) {
		return coord.Grant{}, b.Release(ctx, b.held, b.held.NotBefore)
	}},
}

func acquireFirst(b *between) { b.held = b.acquire() }

func acquireOnce(ctx context.Context, b *between) (coord.Grant, error) {
	return b.Acquire(ctx, b.req)
}

// between is one operation with something between its calls.
type between struct {
	party
	op    betweenOp
	h     BetweenHarness
	n     int
	req   coord.Request
	held  coord.Grant // of p, before the operation
	acted func() bool
}

// do runs the operation, with act before one of its calls.
func (b *between) do(act func(cancel func())) (coord.Grant, error) {
	ctx, cancel := context.WithCancel(b.ctx())
	defer cancel()
	ended := make(chan struct{})
	began := b.h.Before(b.Coordinator, b.n, func() {
		defer close(ended)
		act(cancel)
	})
	// The operation may have been given up while act was still under way.
	b.acted = func() bool {
		if !began() {
			return false
		}
		<-ended
		return true
	}
	return b.op.run(ctx, b)
}

// operatorBetween: what is granted or extended after the floor was raised lies above
// it.
func operatorBetween(b *between) {
	b.op.prepare(b)
	floor := b.at(1.25)
	g, err := b.do(func(func()) { b.raiseFloor(floor) })
	if !b.acted() {
		return
	}
	switch {
	case errors.Is(err, coord.ErrQuarantined):
		g = b.held
	case err != nil:
		b.Fatalf("call %d, the floor raised to %d before it: %v", b.n, floor, err)
	case g == coord.Grant{} || b.held.Token != "" && b.n > 1: // the window may have grown before
	case g.NotBefore < floor && g.NotAfter > b.held.NotAfter:
		safetytest.Of(b).Errorf("call %d, the floor raised to %d before it: %v", b.n, floor, g)
	}
	b.wantAbove(max(floor, g.NotAfter), g)
}

// wantAbove acquires both worker IDs, of which g may be held; nothing may begin below the
// tick.
func (b *between) wantAbove(tick int64, g coord.Grant) {
	b.Helper()
	if g.Token != "" {
		b.crash(g)
	}
	q := b.client(2)
	for range 2 {
		h, err := q.Acquire(b.ctx(), q.request())
		switch {
		case errors.Is(err, coord.ErrQuarantined), errors.Is(err, coord.ErrNoWorkerID):
		case err != nil:
			b.Fatalf("Acquire afterwards: %v", err)
		case h.NotBefore < tick && (g.Token == "" || h.WorkerID == g.WorkerID):
			safetytest.Of(b).Errorf("before call %d something happened; granted afterwards was %v; want "+
				"it above %d", b.n, h, tick)
		}
	}
}

// lossBetween: whatever was granted and is lost, nothing is granted that overlaps with
// it, once somebody who had seen the state that is lost has been answered.
func lossBetween(b *between) {
	other := b.client(2)
	other.release(other.acquire(), b.now) // there is a namespace
	restore := b.h.Lose(b.TB)
	b.op.prepare(b)
	lost := other.acquire()
	if b.held.Token == "" {
		h := b.acquire() // so that it has seen what will be lost
		b.release(h, h.NotBefore)
	} else {
		b.held = b.renew(b.held, b.held.NotAfter+1)
	}
	gone := map[int]coord.Grant{lost.WorkerID: lost}
	g, err := b.do(func(func()) {
		// The other worker ID, of which the operation may have seen that it is free.
		if h, err := other.Acquire(b.ctx(), other.request()); err == nil {
			gone[h.WorkerID] = h
		}
		restore()
	})
	if !b.acted() {
		return
	}
	if l := gone[g.WorkerID]; err == nil && g.Token != "" && g.Token != b.held.Token &&
		g.NotBefore < l.NotAfter {
		safetytest.Of(b).Errorf("%v was lost before call %d, and %v granted", l, b.n, g)
	}
	if err == nil && b.held.Token != "" && g.Token != "" && g.NotBefore < b.held.NotAfter &&
		g.NotAfter > b.held.NotAfter && b.n == 1 {
		safetytest.Of(b).Errorf("state was lost before call %d, and %v extended to %v", b.n, b.held, g)
	}
	// Whatever the operation said, the next one notices at the latest.
	for _, p := range []party{b.party, b.client(2)} {
		if h, err := p.Acquire(b.ctx(), p.request()); err == nil &&
			h.NotBefore < max(gone[h.WorkerID].NotAfter, b.held.NotAfter) {
			safetytest.Of(b).Errorf("%v and %v were lost before call %d, and %v granted after it", gone,
				b.held, b.n, h)
		}
	}
}

// givenUpBetween: an operation that was given up is made again, and comes to the same.
func givenUpBetween(b *between) {
	b.op.prepare(b)
	if _, err := b.do(func(cancel func()) { cancel() }); err != nil && b.acted() {
		b.again("given up before it")
	}
}

// lostReplyBetween: an operation of which an answer is lost finds out by itself, or is made again
// and comes to the same. What it says before is nothing definite.
func lostReplyBetween(b *between) {
	b.op.prepare(b)
	b.acted = b.h.Before(b.Coordinator, b.n, nil)
	g, err := b.op.run(b.ctx(), b)
	switch {
	case !b.acted():
	case err == nil:
		b.settled("its answer lost", g)
	case coord.Permanent(err) || errors.Is(err, coord.ErrLeaseLost):
		b.Errorf("call %d, its answer lost: %v, which is definite", b.n, err)
	default:
		b.again("its answer lost")
	}
}

// again makes the operation once more, after something happened to a call of it.
func (b *between) again(what string) {
	b.Helper()
	g, err := b.op.run(b.ctx(), b)
	if err != nil && (b.op.name != "Release" || !errors.Is(err, coord.ErrLeaseLost)) {
		b.Fatalf("call %d, %s, and made again: %v", b.n, what, err)
	}
	b.settled(what, g)
}

// settled checks that g is held, or nothing if it is the zero Grant, and that it can be released.
func (b *between) settled(what string, g coord.Grant) {
	b.Helper()
	q := b.client(2)
	h := q.acquire()
	if g.Token == "" {
		q.acquire()
		return
	}
	if h.WorkerID == g.WorkerID {
		safetytest.Of(b).Errorf("call %d, %s: %v is held, and %v was granted", b.n, what, g, h)
	}
	q.wantFull() // both worker IDs are held
	b.release(g, g.NotAfter)
	if i := b.client(2).acquire(); i.WorkerID != g.WorkerID || i.NotBefore < g.NotAfter {
		safetytest.Of(b).Errorf("call %d, %s: %v was released, and %v granted", b.n, what, g, i)
	}
}

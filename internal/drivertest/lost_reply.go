package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// HurriedTime is the deadline of calls of which a reply is lost. It is long enough for the
// request to get through on a slow machine; where all replies are lost, all of it is
// waited for.
const HurriedTime = 9 * time.Second

// Hurried returns a context for a call of which a reply is lost.
func Hurried(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), HurriedTime)
	tb.Cleanup(cancel)
	return ctx
}

// Lossy is a coordinator whose back end does what it is asked for, and whose replies are
// lost on demand. Nothing is held in its namespace.
type Lossy struct {
	coord.Coordinator
	// Lose has the reply to the change that the next call of an operation makes lost, and
	// with all every one after it.
	Lose func(op coordtest.Op, all bool)
	// Heal ends that, returns when there is a connection again, and says how many replies
	// were lost.
	Heal func() int
}

// held returns the slots that are held.
func (l *Lossy) held(t *testing.T) (held []coord.Slot) {
	t.Helper()
	slots, err := l.Coordinator.(coord.Admin).List(Within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slots {
		if s.State == coord.SlotHeld {
			held = append(held, s)
		}
	}
	return held
}

// healed checks that one reply was lost to a call, or more.
func (l *Lossy) healed(t *testing.T, call string, err error) {
	t.Helper()
	if lost := l.Heal(); lost == 0 || err != nil {
		t.Fatalf("%s with %d replies lost: %v; want 1 or more, and no error", call, lost, err)
	}
}

// LostReplyOnAcquire loses one reply of an acquisition, which finds out by itself.
func LostReplyOnAcquire(t *testing.T, l *Lossy) {
	t.Helper()
	l.Lose(coordtest.Acquire, false)
	g, err := l.Acquire(Hurried(t), Request(Capacity))
	l.healed(t, "Acquire", err)
	if held := l.held(t); len(held) != 1 {
		t.Errorf("held are %v; want one worker ID", held)
	}
	if g, err = l.Renew(Within(t), g, g.NotAfter+1000); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(Within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
}

// LostReplyOnRenew loses one reply of a renewal, thrice: what was stored is adopted.
func LostReplyOnRenew(t *testing.T, l *Lossy) {
	t.Helper()
	g := MustAcquire(t, l, Request(1))
	for range 3 {
		until := g.NotAfter + 1000
		l.Lose(coordtest.Renew, false)
		h, err := l.Renew(Hurried(t), g, until)
		l.healed(t, "Renew", err)
		if h.NotAfter != until || h.NotBefore != g.NotBefore {
			t.Fatalf("Renew of %v until %d: %v", g, until, h)
		}
		g = h
	}
}

// LostReplyOnRelease loses one reply of a release, which finds out that it was done.
func LostReplyOnRelease(t *testing.T, l *Lossy) {
	t.Helper()
	g := MustAcquire(t, l, Request(1))
	l.Lose(coordtest.Release, false)
	l.healed(t, "Release", l.Release(Hurried(t), g, g.NotBefore+1))
	l.wantReleased(t, g)
}

// LostRepliesOnAcquire loses all replies from the grant on: the call fails, and the next
// one with the same token finds the same grant.
func LostRepliesOnAcquire(t *testing.T, l *Lossy) {
	t.Helper()
	l.Lose(coordtest.Acquire, true)
	req := Request(Capacity)
	g, err := l.Acquire(Hurried(t), req)
	if err == nil || coord.Permanent(err) {
		t.Fatalf("Acquire without replies: %v, %v; want an error that may pass", g, err)
	}
	l.healed(t, "Acquire", nil)
	streamtest.Eventually(t, "the grant is stored", func() bool { return len(l.held(t)) == 1 })
	stored := l.held(t)[0]
	req.Now = TickNow() // the first call may have taken long
	if g, err = l.Acquire(Within(t), req); err != nil {
		t.Fatalf("Acquire with the same token: %v", err)
	}
	if held := l.held(t); len(held) != 1 || g.WorkerID != stored.WorkerID || g.Generation != stored.Generation || g.NotAfter != req.Until {
		t.Errorf("Acquire with the same token, of which %+v is stored: %v; held are %v", stored, g, held)
	}
}

// LostRepliesOnRenew loses all replies to a renewal: the call fails and says nothing
// definite, and a renewal of the old grant goes on from what was stored.
func LostRepliesOnRenew(t *testing.T, l *Lossy) {
	t.Helper()
	g := MustAcquire(t, l, Request(1))
	l.Lose(coordtest.Renew, true)
	if h, err := l.Renew(Hurried(t), g, g.NotAfter+2000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew without replies: %v, %v; want an error that is not definite", h, err)
	}
	l.healed(t, "Renew", nil)
	h, err := l.Renew(Within(t), g, g.NotAfter+1000)
	if err != nil || h.NotAfter != g.NotAfter+2000 || h.NotBefore != g.NotBefore {
		t.Errorf("Renew of %v until %d after a lost one until %d: %v, %v", g, g.NotAfter+1000, g.NotAfter+2000, h, err)
	}
}

// LostRepliesOnRelease loses all replies to a release: the call fails, asking again says
// that the grant is over, and the worker ID is free.
func LostRepliesOnRelease(t *testing.T, l *Lossy) {
	t.Helper()
	g := MustAcquire(t, l, Request(1))
	l.Lose(coordtest.Release, true)
	if err := l.Release(Hurried(t), g, g.NotBefore+1); err == nil {
		t.Fatal("Release without replies returned no error")
	}
	l.healed(t, "Release", nil)
	if err := l.Release(Within(t), g, g.NotBefore+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release again: %v; want %v", err, coord.ErrLeaseLost)
	}
	l.wantReleased(t, g)
}

// wantReleased checks that g, which was released at its first tick, is.
func (l *Lossy) wantReleased(t *testing.T, g coord.Grant) {
	t.Helper()
	if held := l.held(t); len(held) != 0 {
		t.Errorf("held are %v; want none", held)
	}
	if h := MustAcquire(t, l, Request(1)); h.NotBefore != g.NotBefore+1 {
		t.Errorf("%v was released at %d, the next is %v", g, g.NotBefore+1, h)
	}
}

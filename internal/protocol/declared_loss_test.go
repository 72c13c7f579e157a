package protocol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// madeByNewcomer has a newcomer make the namespace again, which knows nothing of long windows.
func (d *declared) madeByNewcomer() {
	d.Helper()
	d.server.Delete()
	req := requestIn(d.space, rightClock{}, "newcomer")
	req.Workers = coord.Range{First: 9, Count: 1}
	mustAcquire(d.T, d.process(), req)
}

// TestLossOfLongWindowsSeenByAcquire: who remembers that the namespace was declared, and meets
// one that a newcomer has made with an acquisition, raises the floor, and declares it again.
func TestLossOfLongWindowsSeenByAcquire(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		offline := mustAcquire(t, d.process(), d.request("offline", 1)) // goes on for 6 h with its file
		knows := d.process()
		mustAcquire(t, knows, d.request("before", 4))
		time.Sleep(time.Minute)
		d.madeByNewcomer()
		least := d.end()
		mustAcquire(t, knows, d.request("after", 4))
		d.wantFloor("seen by Acquire", least)
		next := requestIn(d.space, rightClock{}, "next")
		next.Workers.Count = 1
		h, err := d.process().Acquire(t.Context(), next)
		if err == nil && h.WorkerID == offline.WorkerID && h.NotBefore < offline.NotAfter {
			t.Errorf("%v is somebody's, and %v is granted, although a process has asked that knows better", offline, h)
		}
	})
}

// behind is a clock that is behind.
type behind struct{ by time.Duration }

func (c behind) UnixMicro() int64 { return time.Now().Add(-c.by).UnixMicro() }

// TestResumeAfterClockStep: the clock was set back after the request was made, or the generator
// has another clock than the coordinator. That is no longer horizon: the window is cut to what
// the coordinator's clock allows, and so are its renewals.
func TestResumeAfterClockStep(t *testing.T) {
	for _, by := range []time.Duration{2 * time.Second, 50 * time.Second} {
		declare(t, func(t *testing.T, d *declared) {
			g := mustAcquire(t, d.process(), d.request("token", 1))
			g.Handle = nil
			time.Sleep(2 * time.Minute) // so that the window grows
			until := func() int64 { return d.space.Scale.Tick(time.Now().Add(sixHours).UnixMicro()) }
			cut := func() int64 { return d.end() - by.Milliseconds() }
			c := over(d.T, memstore.Store{Server: d.server}, behind{by}, nil)
			r, err := c.Resume(t.Context(), g, "next", until())
			if err != nil || r.NotAfter != min(until(), cut()) {
				t.Fatalf("Resume with a clock that is %v behind: %v, %v; want the end at %d", by, r, err, min(until(), cut()))
			}
			time.Sleep(time.Minute)
			if r, err = c.Renew(t.Context(), r, until()); err != nil || r.NotAfter != min(until(), cut()) {
				t.Errorf("Renew with a clock that is %v behind: %v, %v; want the end at %d", by, r, err, min(until(), cut()))
			}
		})
	}
}

// TestResumeByServersClock: where the back end has a clock, one of this machine that was set
// back refuses nothing.
func TestResumeByServersClock(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		d.server.Clock = rightClock{}.UnixMicro
		g := mustAcquire(t, newCoordinator(t, d.server, rightClock{}), d.request("token", 1))
		g.Handle = nil
		time.Sleep(time.Minute)
		until := d.space.Scale.Tick(time.Now().Add(sixHours).UnixMicro())
		r, err := newCoordinator(t, d.server, behind{time.Hour}).Resume(t.Context(), g, "next", until)
		if err != nil || r.NotAfter != until {
			t.Errorf("Resume: %v, %v; want the end at %d", r, err, until)
		}
	})
}

// TestLossSettledWithoutHorizon: hours later, the loss on record explains all that a process
// knows, but the namespace does not declare its windows any more, because somebody else has
// made it again. It is declared again before they are extended.
func TestLossSettledWithoutHorizon(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		knows := d.process()
		g := mustAcquire(t, knows, d.request("before", 4))
		time.Sleep(2 * sixHours)
		d.madeByNewcomer()
		operator := d.process()
		if _, err := operator.Quarantine(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		least := d.end()
		if r, err := knows.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew of what was lost: %v, %v", r, err)
		}
		d.wantFloor("settled by another", least)
	})
}

// TestHorizonDeclaredIsLost: a namespace that was declared again after a loss comes back as it
// was before that, and was written since.
func TestHorizonDeclaredIsLost(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		knows := d.process()
		mustAcquire(t, knows, d.request("before", 4))
		d.madeByNewcomer()
		undeclared := d.server.Snapshot()
		mustAcquire(t, knows, d.request("after", 4))
		second := d.process()
		if n, err := second.Inspect(t.Context()); err != nil || n.MaxHorizon != sixHours {
			t.Fatalf("Inspect: %+v, %v", n, err)
		}
		undeclared()
		d.server.Skip(1000) // so that no count falls
		time.Sleep(time.Minute)
		least := d.end()
		if _, err := d.process().Quarantine(t.Context(), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, second, requestIn(d.space, rightClock{}, "second"))
		d.wantFloor("declared no more", least)
	})
}

// TestLongWindowIsToldOfWhatIsThere: a start with a long horizon in a namespace without one is
// refused, and changes nothing.
func TestLongWindowIsToldOfWhatIsThere(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		d.madeByNewcomer()
		g, err := d.process().Acquire(t.Context(), d.request("long", 4))
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "has 2m0s at most") {
			t.Errorf("Acquire: %v, %v", g, err)
		}
		if m := d.server.Meta(); m.Floor != 0 || m.MaxHorizon != 0 {
			t.Errorf("namespace: %+v", m)
		}
	})
}

// TestNamespaceLostWhileALongWindowIsAskedFor: the namespace is lost after a start has seen what
// it was declared with, in a store whose listings prove nothing. It is not made as a new one.
func TestNamespaceLostWhileALongWindowIsAskedFor(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		c, st := tap(t, d.server, rightClock{})
		lost := false
		st.blind = true
		st.tap = func(call string, answered bool) error {
			if call == "list" && answered && !lost {
				lost = true
				d.server.Delete()
			}
			return nil
		}
		least := d.end()
		g, err := c.Acquire(t.Context(), d.request("token", 4))
		if err != nil || !lost || g.NotBefore < least {
			t.Errorf("Acquire: %v, %v; want it above %d", g, err, least)
		}
		d.wantFloor("lost meanwhile", least)
	})
}

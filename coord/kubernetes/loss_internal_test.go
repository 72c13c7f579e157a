package kubernetes

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// grantOf acquires one of so many worker IDs from a first one on.
func (f *fakeAPI) grantOf(t *testing.T, c protocol.Full, first, count int) coord.Grant {
	t.Helper()
	req := f.request(first + count)
	req.Workers = coord.Range{First: first, Count: count}
	return drivertest.MustAcquire(t, c, req)
}

// rewrite writes the record of the namespace again.
func (f *fakeAPI) rewrite(t *testing.T) {
	t.Helper()
	s := f.hand(t)
	o, err := s.get(t.Context(), s.objectName(-1))
	if err == nil {
		_, _, err = s.write(t.Context(), o, o.next())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// harm is something that is done to what is stored, which was other things before.
type harm func(f *fakeAPI, old map[string]lease)

// TestLoss: what is stored is deleted, put back, or goes back to what it was. Nothing is granted or
// extended before the windows are over that may be lost, and then all goes on by itself.
func TestLoss(t *testing.T) {
	const retired = 5
	record, held, free := SlotName("orders", -1), SlotName("orders", 0), SlotName("orders", 3)
	marks := record + ".used-0"
	gone := func(names ...string) harm {
		return func(f *fakeAPI, _ map[string]lease) {
			for _, name := range names {
				delete(f.leases, name)
			}
		}
	}
	but := func(kept string) harm {
		return func(f *fakeAPI, _ map[string]lease) {
			maps.DeleteFunc(f.leases, func(name string, _ lease) bool { return name != kept })
		}
	}
	copied := func(name string) harm { return func(f *fakeAPI, _ map[string]lease) { f.copied(name) } }
	back := func(name string) harm {
		return func(f *fakeAPI, old map[string]lease) { f.leases[name] = old[name] }
	}
	for name, tc := range map[string]struct {
		harm   harm
		holder bool // nobody else can tell
	}{
		"a slot that is held is gone":    {gone(held), false},
		"a slot that is retired is gone": {gone(SlotName("orders", retired)), false},
		"a slot that is free is gone":    {gone(free), false},
		"the record is gone":             {gone(record), false},
		"the marks are gone":             {gone(marks), false},
		"all is gone but the marks":      {but(marks), false},
		"all is gone":                    {but(""), true},
		"a slot that is held is a copy":  {copied(held), false},
		"the record is a copy":           {copied(record), false},
		"the marks are a copy":           {copied(marks), false},
		"the record goes back":           {back(record), false},
		"a slot that is held goes back":  {back(held), true},
		"all goes back": {func(f *fakeAPI, old map[string]lease) {
			f.leases = maps.Clone(old)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeAPI()
				holder, other := f.open(t), f.open(t)
				g, h := f.grantOf(t, holder, 0, 1), f.grantOf(t, other, 3, 1)
				if err := errors.Join(other.Release(t.Context(), h, h.NotBefore),
					other.Retire(t.Context(), retired)); err != nil {
					t.Fatal(err)
				}
				old := maps.Clone(f.leases)
				f.rewrite(t)
				for range 2 { // the second one has seen that
					var err error
					if g, err = holder.Renew(t.Context(), g, g.NotAfter+1000); err != nil {
						t.Fatal(err)
					}
				}
				tc.harm(f, old)
				if tc.holder {
					r, err := holder.Renew(t.Context(), g, g.NotAfter+1000)
					f.wantQuarantined(t, "Renew", r, err)
					_, _ = holder.Acquire(t.Context(), f.request(8))
				}
				newcomer := f.open(t)
				r, err := newcomer.Acquire(t.Context(), f.request(8))
				f.wantQuarantined(t, "Acquire", r, err)
				if n, err := newcomer.Inspect(t.Context()); err != nil || n.Lost.IsZero() {
					t.Errorf("Inspect: %+v, %v; want a loss on record", n, err)
				}
				if r, err := holder.Renew(t.Context(), g, g.NotAfter+1000); err == nil &&
					r.NotBefore == g.NotBefore && r.NotAfter > g.NotAfter {
					safetytest.Of(t).Errorf("Renew of %v: %v", g, r)
				}
				f.comesBack(t, newcomer, g.NotAfter)
			})
		})
	}
}

// wantQuarantined checks that nothing was granted or extended because writes were lost.
func (f *fakeAPI) wantQuarantined(t *testing.T, what string, g coord.Grant, err error) {
	t.Helper()
	if errors.Is(err, coord.ErrLeaseLost) || errors.Is(err, coord.ErrQuarantined) {
		return
	}
	if soon := f.request(1).Now + 30_000; err != nil || g.NotBefore < soon {
		safetytest.Unless(t, err).Errorf("%s: %v, %v; want %v, or what lies above the floor", what, g,
			err, coord.ErrQuarantined)
	}
}

// comesBack checks that a worker ID is granted above a tick within the longest horizon, and that
// the objects agree then.
func (f *fakeAPI) comesBack(t *testing.T, c protocol.Full, tick int64) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		g, err := c.Acquire(t.Context(), f.request(8))
		if err == nil && g.NotBefore >= tick {
			break
		}
		if err == nil || time.Since(began) > MaxHorizon+10*time.Second {
			t.Fatalf("Acquire %v later: %v, %v; want one above %d", time.Since(began), g, err, tick)
		}
	}
	if a, err := f.hand(t).list(t.Context()); err != nil || !a.meta.settled() || a.missing() != "" {
		t.Errorf("afterwards: %v, %v", a.missing(), err)
	}
}

// TestStaysClosed: the record of a namespace that was closed is deleted, or put back to what it was
// before. Its slots know better.
func TestStaysClosed(t *testing.T) {
	record := SlotName("orders", -1)
	for name, harm := range map[string]harm{
		"gone": func(f *fakeAPI, _ map[string]lease) { delete(f.leases, record) },
		"back": func(f *fakeAPI, old map[string]lease) { f.leases[record] = old[record] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeAPI()
				c := f.open(t)
				f.grantOf(t, c, 0, 2)
				old := maps.Clone(f.leases)
				if _, err := c.Quarantine(t.Context(),
					time.UnixMicro(drivertest.Scale().Micro(drivertest.Space().LastTick))); err != nil {
					t.Fatal(err)
				}
				harm(f, old)
				newcomer := f.open(t)
				if _, err := newcomer.List(t.Context()); err == nil || name == "gone" &&
					!strings.Contains(err.Error(), "was deleted") {
					t.Errorf("List: %v", err)
				}
				if g, err := newcomer.Acquire(t.Context(), f.request(2)); !errors.Is(err,
					coord.ErrNamespaceClosed) {
					safetytest.Unless(t, err).Errorf("Acquire in a namespace that was closed: %v, %v", g, err)
				}
			})
		})
	}
}

// TestLossAfterAQuarantine: a floor that was raised, long ago, explains nothing that is lost later.
func TestLossAfterAQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		c := f.open(t)
		g := f.grantOf(t, c, 0, 2)
		if _, err := c.Quarantine(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		delete(f.leases, SlotName("orders", g.WorkerID))
		began := f.request(2)
		now, err := f.open(t).Acquire(t.Context(), began)
		if err == nil && now.NotBefore <= began.Now {
			safetytest.Of(t).Errorf("%v was granted although a Lease is gone; want a floor", now)
		}
	})
}

// TestClosedAgain: closing a namespace that is closed finishes what a close has begun whose answer
// was lost.
func TestClosedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		c := f.open(t)
		g := f.grantOf(t, c, 0, 2)
		name, end := SlotName("orders",
			g.WorkerID), time.UnixMicro(drivertest.Scale().Micro(drivertest.Space().LastTick))
		before := f.leases[name]
		for range 2 {
			if _, err := c.Quarantine(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			if reflect.DeepEqual(f.leases[name], before) {
				t.Error("the slot does not know that its namespace is closed")
			}
			f.leases[name] = before
		}
	})
}

// TestGrantOfAHeldSlot: whoever has read the slot of a live holder does not write over it.
func TestGrantOfAHeldSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		g := f.grantOf(t, f.open(t), 0, 1)
		s, err := f.hand(t).Open("thief", 15*time.Second, 1024)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Look(t.Context(), g.WorkerID, "thief")
		if err != nil {
			t.Fatal(err)
		}
		slot := v.Slot.Record
		slot.Token, slot.Generation = "thief", slot.Generation+1
		out, err := s.Commit(t.Context(),
			protocol.Change{Before: v, Slot: &slot, Owner: protocol.OwnerTaken, Token: "thief"})
		if err != nil || out.Done || out.Conflict != protocol.ConflictSlot {
			safetytest.Unless(t, err).Errorf("%+v, %v; want a conflict over the slot of %v", out, err, g)
		}
	})
}

// TestResumeWithoutARecord: who comes with a grant from a state file while the namespace's record
// is gone hears that it is lost, so that it leases a worker ID, which makes the record again.
func TestResumeWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		g := f.grantOf(t, f.open(t), 0, 1)
		delete(f.leases, SlotName("orders", -1))
		g.Handle = nil
		c := f.open(t)
		if got, err := c.Resume(t.Context(), g, "next", g.NotAfter+1); !errors.Is(err,
			coord.ErrLeaseLost) || coord.Permanent(err) {
			t.Errorf("%v, %v; want %v", got, err, coord.ErrLeaseLost)
		}
		if got, err := c.Acquire(t.Context(), f.request(2)); err == nil && got.NotBefore < g.NotAfter {
			safetytest.Of(t).Errorf("%v was granted; forgotten may be %v", got, g)
		}
	})
}

// TestEdited: what was edited is not granted and not overwritten, and its holder does not extend
// its window. It goes on when an operator has deleted it.
func TestEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, slot := newFakeAPI(), SlotName("orders", 0)
		c, newcomer := f.open(t), f.open(t)
		g := f.grantOf(t, c, 0, 1)
		f.edited(slot)
		edited := f.leases[slot].Metadata.Annotations[annotation]
		_, err := c.Renew(t.Context(), g, g.NotAfter+1000)
		drivertest.WantInvalid(t, "Renew", err, slot, "it was edited", "it is not overwritten",
			"or delete it")
		if h := f.grantOf(t, newcomer, 0, 2); h.WorkerID == 0 {
			safetytest.Of(t).Errorf("granted is %v, whose slot was edited", h)
		}
		if _, err := newcomer.Quarantine(t.Context(), f.clock.Time()); err != nil {
			t.Error(err)
		}
		if now := f.leases[slot].Metadata.Annotations[annotation]; now != edited {
			safetytest.Of(t).Errorf("it was overwritten: %q", now)
		}
		delete(f.leases, slot)
		f.comesBack(t, newcomer, g.NotAfter)
	})
}

// TestDies: whoever acquires the first worker ID of a namespace gives up, or dies, before each of
// the requests. The same one goes on, and another one comes.
func TestDies(t *testing.T) {
	for _, token := range []string{"", "another"} {
		for n, more := 1, true; more; n++ {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f, left := newFakeAPI(), n
				f.before = func() {
					if left--; left == 0 {
						cancel()
					}
				}
				c, req := f.open(t), f.request(4)
				_, _ = c.Acquire(ctx, req)
				more = ctx.Err() != nil
				if token != "" {
					c, req.Token = f.open(t), token
				}
				began := time.Now()
				g, err := c.Acquire(t.Context(), req)
				if err != nil || time.Since(began) > 3*time.Second {
					t.Fatalf("after one that ended before request %d: %v after %v", n, err, time.Since(began))
				}
				a, err := f.hand(t).list(t.Context())
				if o := a.slots[g.WorkerID]; err != nil || o.Token != req.Token ||
					a.marksOf(g.WorkerID).marked(g.WorkerID) != o.uid {
					t.Errorf("after one that ended before request %d: %v is not held, or has no mark: %v", n, g,
						err)
				}
			})
		}
	}
}

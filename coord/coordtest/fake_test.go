package coordtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
)

// ask is a request for one of n worker IDs with a TTL of 15 s, at tick now.
func ask(token string, n int, now int64) coord.Request {
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: layoutA, Scale: clock.Scale{Unit: 1000},
		LastTick: lastTick,
		Workers:  coord.Range{Count: n}, Capacity: capacity, TTL: 15 * time.Second,
		Now: now, Until: now + 100, OpenBy: now,
	}
}

func mustAcquire(t *testing.T, c coord.Coordinator, req coord.Request) coord.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// within returns a context of d, in the bubble's time.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// inBubble runs a test in a bubble, with a participant that holds worker ID 0 until tick 100.
func inBubble(t *testing.T, test func(t *testing.T, f *Fake, c *FakeClient, g coord.Grant)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(FakeConfig{})
		c := f.Client()
		test(t, f, c, mustAcquire(t, c, ask("a", 1, 0)))
	})
}

func TestFakeLosesRequestsAndReplies(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Fake, c *FakeClient, g coord.Grant) {
		f.LoseRequests(Renew, 1)
		f.LoseReplies(Renew, 1)
		for _, want := range []int64{100, 300} {
			start := time.Now()
			_, err := c.Renew(within(t, time.Second), g, 300)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Fatalf("after %v: %v; want the deadline, after 1s", time.Since(start), err)
			}
			if n := f.Slot(0).NotAfter; n != want {
				t.Fatalf("stored is %d; want %d", n, want)
			}
		}
	})
}

func TestFakeDelays(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Fake, c *FakeClient, g coord.Grant) {
		f.DelayReplies(Renew, 2*time.Second, 1)
		start := time.Now()
		if _, err := c.Renew(t.Context(), g, 200); err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("delayed reply after %v: %v", time.Since(start), err)
		}
		f.DelayRequests(Renew, 2*time.Second, Forever)
		_, err := c.Renew(within(t, time.Second), g, 300)
		if !errors.Is(err, context.DeadlineExceeded) || f.Slot(0).NotAfter != 200 {
			t.Fatalf("delayed request: %v, stored %d; want the deadline and 200", err, f.Slot(0).NotAfter)
		}
		time.Sleep(1500 * time.Millisecond) // it arrives all the same
		if n := f.Slot(0).NotAfter; n != 300 {
			t.Fatalf("stored is %d after the request arrived; want 300", n)
		}
		f.Recover()
		start = time.Now()
		if _, err := c.Renew(t.Context(), g, 400); err != nil || time.Since(start) != 0 {
			t.Fatalf("healed, after %v: %v", time.Since(start), err)
		}
	})
}

func TestFakeReordersAndReplays(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Fake, c *FakeClient, g coord.Grant) {
		held := f.HoldBack(Renew, 1)
		first := make(chan coord.Grant)
		go func() {
			r, err := c.Renew(t.Context(), g, 200)
			if err != nil {
				t.Error(err)
			}
			first <- r
		}()
		synctest.Wait()
		if held.Len() != 1 {
			t.Fatalf("%d requests are held; want 1", held.Len())
		}
		if r, err := c.Renew(t.Context(), g, 300); err != nil || r.NotAfter != 300 {
			t.Fatalf("the second renewal overtakes: %v, %v", r, err)
		}
		held.Deliver()
		if r := <-first; r.NotAfter != 300 || held.Len() != 0 {
			t.Fatalf("the first renewal returned %v; want a NotAfter of 300, stored before", r)
		}
		acquired := f.CallsOf(Acquire)[0]
		f.Steal(0)
		if r, err := f.Replay(acquired); !errors.Is(err, coord.ErrNoWorkerID) {
			t.Fatalf("replay of an acquire over a thief: %v, %v", r, err)
		}
	})
}

func TestFakeOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Fake, c *FakeClient, g coord.Grant) {
		f.Outage(true)
		time.AfterFunc(time.Second, func() { f.Outage(false) })
		if _, err := c.Renew(within(t, 3*time.Second), g, 200); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Fatalf("a request made in an outage: %v; want it lost", err)
		}
		if _, err := c.Renew(t.Context(), g, 200); err != nil {
			t.Fatalf("after the outage: %v", err)
		}
		f.Refuse(true)
		if err := c.Release(t.Context(), g, 0); !errors.Is(err, ErrUnreachable) {
			t.Fatalf("refused: %v", err)
		}
		f.Recover()
		f.LoseReplies(Release, 1)
		time.AfterFunc(time.Second, func() { c.Close() })
		if err := c.Release(t.Context(), g, 50); !errors.Is(err, coord.ErrClosed) {
			t.Fatalf("a call under way at Close: %v", err)
		}
		if s := f.Slot(0); s.NotAfter != 50 || s.Token != "" {
			t.Fatalf("its slot is %+v; want it released at 50", s)
		}
	})
}

func TestFakeClock(t *testing.T) {
	m := clocktest.NewManual(time.Unix(1000, 0))
	f := NewFake(FakeConfig{Clock: m})
	c := f.Client()
	mustAcquire(t, c, ask("a", 1, 0))
	m.Advance(15*time.Second - time.Microsecond)
	if ids := f.Holders(); len(ids) != 1 {
		t.Fatalf("held are %v just before the lease ends", ids)
	}
	m.Advance(time.Microsecond)
	if ids := f.Holders(); len(ids) != 0 {
		t.Fatalf("held are %v when the lease ends", ids)
	}
	f.RaiseFloor(7)
	f.RaiseFloor(5)
	if f.Floor() != 7 {
		t.Errorf("the floor is %d; want 7", f.Floor())
	}
	if thief := f.Steal(5); thief.NotBefore != 7 || thief.NotAfter != 7 {
		t.Errorf("an unused worker ID was stolen as %v; want an empty window at the floor", thief)
	}
	g := mustAcquire(t, c, ask("b", 1, 0))
	lost := c.Lost(g)
	thief := f.Steal(g.WorkerID)
	<-lost
	if thief.NotBefore != g.NotAfter || thief.Generation != g.Generation+1 {
		t.Errorf("%v was stolen as %v", g, thief)
	}
}

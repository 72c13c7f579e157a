package coordtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
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

// TestFakeFaults renews until tick 300, with 2 s for that.
func TestFakeFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		plan          func(f *Fake, c *FakeClient)
		took          time.Duration
		err           error
		stored, later int64 // when it returns, and two seconds later
	}{
		"request lost": {
			func(f *Fake, _ *FakeClient) { f.LoseRequests(Renew, 1) },
			2 * time.Second, context.DeadlineExceeded, 100, 100,
		},
		"reply lost": {
			func(f *Fake, _ *FakeClient) { f.LoseReplies(Renew, 1) },
			2 * time.Second, context.DeadlineExceeded, 300, 300,
		},
		"request delayed": {
			func(f *Fake, _ *FakeClient) { f.DelayRequests(Renew, 3*time.Second, Forever) },
			2 * time.Second, context.DeadlineExceeded, 100, 300, // it arrives all the same
		},
		"reply delayed": {
			func(f *Fake, _ *FakeClient) { f.DelayReplies(Renew, time.Second, 1) },
			time.Second, nil, 300, 300,
		},
		"fails": {
			func(f *Fake, _ *FakeClient) { f.Fail(Renew, coord.ErrClosed, 1) },
			0, coord.ErrClosed, 100, 100,
		},
		"refused": {
			func(f *Fake, _ *FakeClient) { f.Refuse(true) }, 0, ErrUnreachable, 100, 100,
		},
		"not any more": {
			func(f *Fake, _ *FakeClient) { f.Refuse(true); f.Refuse(false) }, 0, nil, 300, 300,
		},
		"an outage that ends": {func(f *Fake, _ *FakeClient) {
			f.Outage(true)
			time.AfterFunc(time.Second, func() { f.Outage(false) })
		}, 2 * time.Second, context.DeadlineExceeded, 100, 100},
		"recovered": {func(f *Fake, _ *FakeClient) {
			f.LoseRequests(Renew, Forever)
			f.Refuse(true)
			f.Recover()
		}, 0, nil, 300, 300},
		"closed": {func(f *Fake, c *FakeClient) {
			f.LoseReplies(Renew, 1)
			time.AfterFunc(time.Second, func() { c.Close() })
		}, time.Second, coord.ErrClosed, 300, 300},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := NewFake(FakeConfig{})
				c := f.Client()
				g := mustAcquire(t, c, ask("a", 1, 0))
				tt.plan(f, c)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				_, err := c.Renew(ctx, g, 300)
				took, stored := time.Since(start), f.Slot(0).NotAfter
				time.Sleep(2 * time.Second)
				if later := f.Slot(0).NotAfter; took != tt.took || !errors.Is(err, tt.err) ||
					stored != tt.stored || later != tt.later {
					t.Errorf("after %v: %v, stored is %d, and later %d; want %+v", took, err, stored, later, tt)
				}
			})
		})
	}
}

func TestFakeReordersAndReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(FakeConfig{})
		c := f.Client()
		g := mustAcquire(t, c, ask("a", 1, 0))
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
		if r, err := c.Renew(t.Context(), g, 300); err != nil || r.NotAfter != 300 {
			t.Fatalf("the second renewal overtakes: %v, %v", r, err)
		}
		held.Deliver()
		if r := <-first; r.NotAfter != 300 {
			t.Fatalf("the first renewal returned %v; want a NotAfter of 300, stored before", r)
		}
		acquired := f.CallsOf(Acquire)[0]
		f.Steal(0)
		if r, err := f.Replay(acquired); !errors.Is(err, coord.ErrNoWorkerID) {
			t.Fatalf("replay of an acquire over a thief: %v, %v", r, err)
		}
	})
}

func TestFakeLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(FakeConfig{})
		c := f.Client()
		mustAcquire(t, c, ask("a", 1, 0))
		time.Sleep(15*time.Second - time.Microsecond)
		if ids := f.Holders(); len(ids) != 1 {
			t.Fatalf("held are %v just before the lease ends", ids)
		}
		time.Sleep(time.Microsecond)
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
	})
}

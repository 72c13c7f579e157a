package protocol_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestCopyIsTold: a process and its copy have one grant. Both renew it, and one of them is
// told that it has lost it: in its second renewal, if it is a copy that knows nothing but
// the grant. The other one goes on.
func TestCopyIsTold(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, c *protocol.Coordinator, g coord.Grant) error{
		"renew": func(t *testing.T, c *protocol.Coordinator, g coord.Grant) error {
			_, err := c.Renew(t.Context(), g, g.NotAfter+10)
			return err
		},
		"release": func(t *testing.T, c *protocol.Coordinator, g coord.Grant) error {
			return c.Release(t.Context(), g, g.NotAfter-1)
		},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			told, stays := process(t, server), process(t, server)
			g := mustAcquire(t, told, wants("token"))
			other := g
			other.Handle = nil
			other = mustRenew(t, stays, other, 1)
			if err := end(t, told, g); !errors.Is(err, coord.ErrLeaseLost) {
				safetytest.Unless(t, err).Fatalf("the copy of a holder has extended its window, and %s is %v",
					name, err)
			}
			for range 3 {
				time.Sleep(time.Second)
				other = mustRenew(t, stays, other, 1)
			}
			if q := mustAcquire(t, told, wants("other")); q.WorkerID == g.WorkerID {
				safetytest.Of(t).Errorf("%v is granted: %v is held", q, other)
			}
		})
	}
}

// TestOwnRenewalIsNoCopy: what a process has asked for itself, and did not learn of, is not
// taken for what a copy has done: answers are lost, and a later call asks for less.
func TestOwnRenewalIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, st := tap(t, memstore.NewServer("a"), nil)
		g := mustAcquire(t, p, wants("token"))
		for n := range int64(5) {
			st.tap = func(call string, answered bool) error {
				if call == "commit" && answered || call == "look" {
					return errNoAnswer
				}
				return nil
			}
			if _, err := p.Renew(t.Context(), g, g.NotAfter+100); err == nil {
				t.Fatal("no answer was lost")
			}
			if n%2 == 1 {
				time.Sleep(time.Hour) // its session has ended, and what it had asked for is forgotten
				if _, err := p.Renew(t.Context(), g, g.NotAfter+1); err == nil {
					t.Fatal("no answer was lost")
				}
			}
			st.tap = nil
			next := mustRenew(t, p, g, n)
			if next.NotAfter != g.NotAfter+100 {
				t.Fatalf("%v after %v", next, g)
			}
			g = next
		}
	})
}

// delayed has the first change of a process wait, before or after it is made, until release is
// called.
func (st *tapped) delayed(answered bool) (release func()) {
	gate, first := make(chan struct{}), true
	st.tap = func(call string, after bool) error {
		if call == "commit" && after == answered && first {
			first = false
			<-gate
		}
		return nil
	}
	return func() { close(gate) }
}

// TestOwnRenewalUnderWayIsNoCopy: of two renewals of one process that are under way at once,
// the first is late: it asks, or learns what became of it, after the second one.
func TestOwnRenewalUnderWayIsNoCopy(t *testing.T) {
	for name, delayed := range map[string]bool{"its request": false, "its answer": true} {
		runInOurTime(t, name, func(t *testing.T) {
			p, st := tap(t, memstore.NewServer("a"), nil)
			g := mustAcquire(t, p, wants("token"))
			release := st.delayed(delayed)
			var done sync.WaitGroup
			done.Go(func() { mustRenew(t, p, g, 100) })
			synctest.Wait()
			next := mustRenew(t, p, g, 1)
			release()
			done.Wait()
			if next, err := p.Renew(t.Context(), next, g.NotAfter+2); err != nil ||
				next.NotAfter != g.NotAfter+100 {
				t.Errorf("%v, %v", next, err)
			}
		})
	}
}

// TestResumedTwiceIsNoCopy: two calls of Resume are under way, and the first asks for more, and is
// late (the clock was set back between).
func TestResumedTwiceIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, st := tap(t, memstore.NewServer("a"), nil)
		g := mustAcquire(t, p, wants("token"))
		g.Handle = nil // out of a file
		release := st.delayed(false)
		done := make(chan error)
		go func() {
			_, err := p.Resume(t.Context(), g, "next", g.NotAfter+100)
			done <- err
		}()
		synctest.Wait()
		r, err := p.Resume(t.Context(), g, "next", g.NotAfter+1)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		mustRenew(t, p, r, 2) // there is no copy
	})
}

// TestAcquiredTwiceIsNoCopy: an Acquire is repeated, and both answers come. Nor is it a copy that
// comes with an old grant alone, out of a file for example.
func TestAcquiredTwiceIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		p := process(t, server)
		g := mustAcquire(t, p, wants("token"))
		again := mustAcquire(t, p, wants("token"))
		if again.NotAfter != g.NotAfter {
			t.Fatal(again)
		}
		mustRenew(t, p, again, 100)
		mustRenew(t, p, g, 1)
		g.Handle = nil
		mustRenew(t, process(t, server), g, 1)
	})
}

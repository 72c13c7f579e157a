package protocol_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestCopyIsTold: a process and its copy have one grant. Both renew it, and one of them is
// told that it has lost it: in its second renewal, if it is a copy that knows nothing but
// the grant. The other one goes on.
func TestCopyIsTold(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h holder) error{
		"renew":   func(t *testing.T, h holder) error { _, err := h.c.Renew(t.Context(), h.g, h.g.NotAfter+10); return err },
		"release": func(t *testing.T, h holder) error { return h.c.Release(t.Context(), h.g, h.g.NotAfter-1) },
	} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				p, _ := tap(t, server, nil)
				q, _ := tap(t, server, nil)
				g, err := p.Acquire(t.Context(), wants("token"))
				if err != nil {
					t.Fatal(err)
				}
				told, stays := holder{p, g}, holder{q, g}
				stays.g.Handle = nil
				stays.renew(t)
				if err := end(t, told); !errors.Is(err, coord.ErrLeaseLost) {
					t.Fatalf("the copy of a holder has extended its window, and %s is %v", name, err)
				}
				for range 3 {
					time.Sleep(time.Second)
					stays.renew(t)
				}
				if q, err := p.Acquire(t.Context(), wants("other")); err != nil || q.WorkerID == g.WorkerID {
					t.Errorf("%v, %v: %v is held", q, err, stays.g)
				}
			})
		})
	}
}

// holder is a grant, and a coordinator that renews it.
type holder struct {
	c coord.Coordinator
	g coord.Grant
}

// renew extends the grant by a tick.
func (h *holder) renew(t *testing.T) {
	t.Helper()
	g, err := h.c.Renew(t.Context(), h.g, h.g.NotAfter+1)
	if err != nil {
		t.Fatal(err)
	}
	h.g = g
}

// TestOwnRenewalIsNoCopy: what a process has asked for itself, and did not learn of, is not
// taken for what a copy has done: answers are lost, and a later call asks for less.
func TestOwnRenewalIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		p, st := tap(t, server, nil)
		g, err := p.Acquire(t.Context(), wants("token"))
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(5) {
			failing := true
			st.tap = func(call string, answered bool) error {
				if failing && (call == "commit" && answered || call == "look") {
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
			failing = false
			next, err := p.Renew(t.Context(), g, g.NotAfter+n)
			if err != nil || next.NotAfter != g.NotAfter+100 {
				t.Fatalf("%v, %v", next, err)
			}
			g = next
		}
	})
}

// TestOwnRenewalUnderWayIsNoCopy: of two renewals of one process that are under way at once,
// the first is late: it asks, or learns what became of it, after the second one.
func TestOwnRenewalUnderWayIsNoCopy(t *testing.T) {
	for name, late := range map[string]bool{"its request": false, "its answer": true} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				p, st := tap(t, server, nil)
				g, err := p.Acquire(t.Context(), wants("token"))
				if err != nil {
					t.Fatal(err)
				}
				hold, first := make(chan struct{}), true
				st.tap = func(call string, answered bool) error {
					if call == "commit" && answered == late && first {
						first = false
						<-hold
					}
					return nil
				}
				var done sync.WaitGroup
				done.Go(func() {
					if _, err := p.Renew(t.Context(), g, g.NotAfter+100); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				next, err := p.Renew(t.Context(), g, g.NotAfter+1)
				if err != nil {
					t.Error(err)
				}
				close(hold)
				done.Wait()
				if next, err = p.Renew(t.Context(), next, g.NotAfter+2); err != nil || next.NotAfter != g.NotAfter+100 {
					t.Errorf("%v, %v", next, err)
				}
			})
		})
	}
}

// TestGrantAloneIsNoCopy: who comes with a grant alone, out of a file for example, does not know
// what was asked for before, and is told nothing of a copy.
func TestGrantAloneIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, _ := tap(t, memstore.NewServer("a"), nil)
		g, err := p.Acquire(t.Context(), wants("token"))
		if err != nil {
			t.Fatal(err)
		}
		old := g
		if g, err = p.Renew(t.Context(), g, g.NotAfter+100); err != nil {
			t.Fatal(err)
		}
		old.Handle = nil
		if next, err := p.Renew(t.Context(), old, old.NotAfter+1); err != nil || next.NotAfter != g.NotAfter {
			t.Errorf("%v, %v", next, err)
		}
	})
}

// TestResumedTwiceIsNoCopy: two calls of Resume are under way, and the first asks for more, and is
// late (the clock was set back between).
func TestResumedTwiceIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, st := tap(t, memstore.NewServer("a"), nil)
		g, err := p.Acquire(t.Context(), wants("token"))
		if err != nil {
			t.Fatal(err)
		}
		g.Handle = nil // out of a file
		hold, first := make(chan struct{}), true
		st.tap = func(call string, answered bool) error {
			if call == "commit" && !answered && first {
				first = false
				<-hold
			}
			return nil
		}
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
		close(hold)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, err := p.Renew(t.Context(), r, r.NotAfter+2); err != nil {
			t.Errorf("there is no copy: %v", err)
		}
	})
}

// TestAcquiredTwiceIsNoCopy: an Acquire is repeated, and both answers come.
func TestAcquiredTwiceIsNoCopy(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		p, _ := tap(t, memstore.NewServer("a"), nil)
		g, err := p.Acquire(t.Context(), wants("token"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Acquire(t.Context(), wants("token"))
		if err != nil || again.NotAfter != g.NotAfter {
			t.Fatal(again, err)
		}
		if _, err = p.Renew(t.Context(), again, g.NotAfter+100); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Renew(t.Context(), g, g.NotAfter+1); err != nil {
			t.Errorf("there is no copy: %v", err)
		}
	})
}

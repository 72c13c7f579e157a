package protocol_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestResumedLeaseLastsAsLongAsAsked: a grant without its handle does not say how long its
// lease lasts, but the slot does.
func TestResumedLeaseLastsAsLongAsAsked(t *testing.T) {
	for name, renew := range map[string]func(ctx context.Context, c *protocol.Coordinator,
		g coord.Grant) (coord.Grant, error){
		"resume": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return c.Resume(ctx, g, "new", g.NotAfter+10_000)
		},
		"renew": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return c.Renew(ctx, g, g.NotAfter+10_000)
		},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			g := mustAcquire(t, process(t, server), wants("old"))
			g.Handle = nil
			c, st := tap(t, server, nil) // another process
			if _, err := renew(t.Context(), c, g); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Second)
			living := st.living()
			if len(living) != 1 || living[0].ttl != 60*time.Second {
				t.Errorf("sessions after 40 s: %+v; want one that lasts 60 s", living)
			}
			for _, o := range st.opened {
				if o.token != "" && o.ttl != 60*time.Second {
					t.Errorf("a holder's session was opened that lasts %v; before that is known, it is "+
						"an operator's", o.ttl)
				}
			}
		})
	}
}

// TestReopenedSessionHasRoom: a session that takes the place of one that has ended has room
// for as many worker IDs.
func TestReopenedSessionHasRoom(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		c, st := tap(t, memstore.NewServer("a"), nil)
		g := mustAcquire(t, c, wants("token"))
		st.living()[0].End()
		mustRenew(t, c, g, 1)
		g.Handle = nil
		if _, err := c.Resume(t.Context(), g, "next", g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
		for _, o := range st.living() {
			if o.workers < space.Capacity {
				t.Errorf("a session has room for %d worker IDs; a loss is dealt with in it, which reads all %d",
					o.workers, space.Capacity)
			}
		}
	})
}

// TestRenewalsAtOnceOverSessionsThatEnd is for the race detector.
func TestRenewalsAtOnceOverSessionsThatEnd(t *testing.T) {
	c, st := tap(t, memstore.NewServer("a"), nil)
	g := mustAcquire(t, c, wants("token"))
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 200 {
				_, _ = c.Renew(t.Context(), g, g.NotAfter+1)
				for _, o := range st.living() {
					o.End()
				}
			}
		})
	}
	done.Go(func() {
		for range 200 {
			_, _ = c.Acquire(t.Context(), wants("token"))
		}
	})
	done.Wait()
}

// TestAcquireAfterAGrantThatWasNotFound: a token that came with a grant of which nothing is
// known acquires with a session of its own.
func TestAcquireAfterAGrantThatWasNotFound(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		c, st := tap(t, memstore.NewServer("a"), nil)
		st.tap = func(string, bool) error { return errNoAnswer }
		if _, err := c.Renew(t.Context(), coord.Grant{Token: "token", Generation: 1}, 1); err == nil {
			t.Fatal("Renew: no error")
		}
		st.tap = nil
		mustAcquire(t, c, wants("token"))
		if living := st.living(); len(living) != 1 || living[0].token != "token" ||
			living[0].ttl != 60*time.Second {
			t.Errorf("sessions: %+v; want one of the token", living)
		}
	})
}

// TestGrantAloneInAnotherLineage: an old copy of the data was restored, from before somebody else
// had a worker ID. Who comes with a grant of it alone, and has seen nothing, is told by the lineage
// on record, although a look at its slot does not tell that, or by its window.
func TestGrantAloneInAnotherLineage(t *testing.T) {
	for name, lineage := range map[string]string{
		"another lineage": "b", "a window that was forgotten": "a",
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			one := coord.Range{Count: 1}
			p := process(t, server)
			g := mustAcquire(t, p, within("old", one))
			restore := server.Snapshot()
			if lineage == "a" {
				g = mustRenew(t, p, g, 1)
			}
			server.Expire(g.WorkerID)
			lost := mustAcquire(t, process(t, server), within("lost", one))
			restore()
			server.Move(lineage)
			g.Handle = nil
			r, err := process(t, server).Resume(t.Context(), g, "new", lost.NotAfter+1)
			if floor := server.Meta().Floor; floor <= lost.NotAfter || err == nil && r.NotBefore < floor {
				safetytest.Of(t).Errorf("%v was lost, and resumed is %v, %v; the floor is %d", lost, r, err,
					floor)
			}
		})
	}
}

package protocol_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestSurveyFromBeforeANamespaceWasKnown: the first survey of a process is delayed. While it
// is under way, another call of the process makes the namespace, somebody deletes that,
// and then the survey arrives and makes it again. The process knows by then that it
// is not new.
func TestSurveyFromBeforeANamespaceWasKnown(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		hold := make(chan struct{})
		first := true
		st.tap = func(call string, answered bool) error {
			if call == "survey" && !answered && first {
				first = false
				<-hold
			}
			return nil
		}
		var late coord.Grant
		var lateErr error
		var done sync.WaitGroup
		done.Go(func() { late, lateErr = c.Acquire(t.Context(), wants("late")) })
		synctest.Wait()
		g, err := c.Acquire(t.Context(), wants("early"))
		if err != nil {
			t.Fatal(err)
		}
		server.Delete()
		close(hold)
		done.Wait()
		if lateErr != nil {
			t.Fatal(lateErr)
		}
		if late.WorkerID == g.WorkerID && late.NotBefore < g.NotAfter {
			t.Errorf("%v was granted although %v was, in a namespace that was deleted", late, g)
		}
		if late.NotBefore < g.NotAfter {
			t.Errorf("%v: nothing was noticed; %v was lost", late, g)
		}
	})
}

// TestListedNamespaceIsRemembered: who has looked at a namespace knows that it is not new.
func TestListedNamespaceIsRemembered(t *testing.T) {
	for name, look := range map[string]func(ctx context.Context, c *protocol.Coordinator) error{
		"list":    func(ctx context.Context, c *protocol.Coordinator) error { _, err := c.List(ctx); return err },
		"inspect": func(ctx context.Context, c *protocol.Coordinator) error { _, err := c.Inspect(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				other, _ := tap(t, server, nil)
				lost, err := other.Acquire(t.Context(), wants("lost"))
				if err != nil {
					t.Fatal(err)
				}
				c, _ := tap(t, server, nil)
				if err := look(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				server.Delete()
				if g, err := c.Acquire(t.Context(), wants("token")); err != nil || g.NotBefore < lost.NotAfter {
					t.Errorf("%v, %v, in a namespace that was deleted, where %v was granted", g, err, lost)
				}
			})
		})
	}
}

// TestMadeAgainWithTheKnownFloor: a namespace that was deleted is made again by a process that
// knows its floor. It is never there without that, not even for a moment.
func TestMadeAgainWithTheKnownFloor(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		if err := c.Init(t.Context(), space); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Quarantine(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		known := server.Meta()
		server.Delete()
		made := 0
		st.tap = func(call string, answered bool) error {
			if got := server.Meta(); call == "survey" && answered {
				made++
				if got.Base < known.Base || got.Floor < known.Floor {
					t.Errorf("a process knew %+v, and has made %+v", known, got)
				}
			}
			return nil
		}
		if _, err := c.Acquire(t.Context(), wants("token")); err != nil || made == 0 {
			t.Errorf("%v, after %d surveys", err, made)
		}
	})
}

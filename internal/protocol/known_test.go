package protocol_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestSurveyFromBeforeANamespaceWasKnown: the first survey of a process is delayed. While it
// is under way, another call of the process makes the namespace, somebody deletes that,
// and then the survey arrives and makes it again. The process knows by then that it
// is not new.
func TestSurveyFromBeforeANamespaceWasKnown(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		gate := make(chan struct{})
		first := true
		st.tap = func(call string, answered bool) error {
			if call == "survey" && !answered && first {
				first = false
				<-gate
			}
			return nil
		}
		var second coord.Grant
		var lateErr error
		var done sync.WaitGroup
		done.Go(func() { second, lateErr = c.Acquire(t.Context(), wants("late")) })
		synctest.Wait()
		g := mustAcquire(t, c, wants("early"))
		server.Delete()
		close(gate)
		done.Wait()
		if lateErr != nil {
			t.Fatal(lateErr)
		}
		if second.NotBefore < g.NotAfter {
			safetytest.Of(t).Errorf("%v: nothing was noticed; %v was lost", second, g)
		}
	})
}

// TestListedNamespaceIsRemembered: who has looked at a namespace knows that it is not new.
func TestListedNamespaceIsRemembered(t *testing.T) {
	for name, look := range map[string]func(ctx context.Context, c *protocol.Coordinator) error{
		"list": func(ctx context.Context, c *protocol.Coordinator) error {
			_, err := c.List(ctx)
			return err
		},
		"inspect": func(ctx context.Context, c *protocol.Coordinator) error {
			_, err := c.Inspect(ctx)
			return err
		},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			lost := mustAcquire(t, process(t, server), wants("lost"))
			c := process(t, server)
			if err := look(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			server.Delete()
			if g := mustAcquire(t, c, wants("token")); g.NotBefore < lost.NotAfter {
				safetytest.Of(t).Errorf("%v, in a namespace that was deleted, where %v was granted", g, lost)
			}
		})
	}
}

// TestSameCopyTwice: the same copy of the data is put back again while the floor of the first
// time holds. Whoever has no slot that tells learns of it from the record of the namespace.
func TestSameCopyTwice(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		server.Blind = true
		c := process(t, server)
		holder := process(t, server)
		mustAcquire(t, holder, wants("first"))
		restore := server.Snapshot()
		lost := mustAcquire(t, holder, wants("lost"))
		restore()
		notices(t, holder, lost)
		for range 2 {
			if g, err := c.Acquire(t.Context(), wants("newcomer")); err == nil &&
				g.NotBefore < lost.NotAfter {
				safetytest.Unless(t, err).Errorf("%v; %v was lost", g, lost)
			}
			restore()
		}
	})
}

package zk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// witnessed has a second holder of the coordinator, whose slot is deleted: its next
// renewal finds that writes were lost, and raises the floor.
func (r *robbed) witnessed(t *testing.T) (lose func()) {
	t.Helper()
	g := mustAcquire(t, r, request(1))
	return func() {
		r.direct.deleteTree(t, slotPath(r.namespace, g.WorkerID))
		if h, err := r.Renew(within(t), g, g.NotAfter+10); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew without a slot: %v, %v; want %v", h, err, coord.ErrLeaseLost)
		}
	}
}

// TestLossBetween: a loss is found and dealt with between the calls of one operation.
// What the operation has reached is not used.
func TestLossBetween(t *testing.T) {
	t.Parallel()
	t.Run("after a renewal was done", func(t *testing.T) {
		r := newRobbed(t)
		lose, g := r.witnessed(t), mustAcquire(t, r, request(2))
		r.After(zktest.OpMulti, 1, lose)
		if h, err := r.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew of %v: %v, %v; want %v", g, h, err, coord.ErrQuarantined)
		}
	})
	t.Run("after a look what became of a renewal", func(t *testing.T) {
		r := newRobbed(t)
		lose, g := r.witnessed(t), mustAcquire(t, r, request(2))
		r.Rob(zktest.OpMulti, 1, false)
		r.After(zktest.OpExists, 2, lose) // the owner's node, and then the token's
		h, err := r.Renew(within(t), g, g.NotAfter+1000)
		if stole := r.Heal(); stole != 1 || !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew of %v with %d answers lost: %v, %v; want %v", g, stole, h, err, coord.ErrQuarantined)
		}
	})
	t.Run("before a look what became of a renewal", func(t *testing.T) {
		r := newRobbed(t)
		g := mustAcquire(t, r, request(1))
		if err := r.Release(within(t), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		g = mustAcquire(t, r, request(1))
		r.Rob(zktest.OpMulti, 1, false)
		// A slot that was made anew, with a window that ends earlier.
		r.Before(zktest.OpSet, func() {
			r.direct.forge(t, slotPath(r.namespace, 0), func(fields map[string]any) { fields["notAfter"] = g.NotAfter - 1 })
		})
		h, err := r.Renew(within(t), g, g.NotAfter+1000)
		if stole := r.Heal(); stole != 1 || !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew of %v with %d answers lost: %v, %v; want %v", g, stole, h, err, coord.ErrQuarantined)
		}
	})
	t.Run("after a look at a grant", func(t *testing.T) {
		r := newRobbed(t)
		lose, before := r.witnessed(t), tickNow()
		r.Rob(zktest.OpMulti, 1, false)
		r.After(zktest.OpExists, 2, lose)
		g, err := r.Acquire(within(t), request(2))
		if stole := r.Heal(); stole != 1 || err != nil {
			t.Fatalf("Acquire with %d answers lost: %v", stole, err)
		}
		if g.NotBefore < before+ward {
			t.Errorf("%v was granted after the loss; want from %d on", g, before+ward)
		}
	})
}

// TestOperatorBetween: an operator raises the floor between the calls of one operation.
func TestOperatorBetween(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	direct := newCoordinator(t, []string{r.server.Addr}, r.namespace, nil)
	g := mustAcquire(t, r, request(2))
	floor, raised := int64(0), time.Hour
	raise := func() {
		asked, err := direct.Quarantine(within(t), time.Now().Add(raised))
		if err != nil {
			t.Error(err)
		}
		floor, raised = scale().Tick(asked.UnixMicro()), 2*time.Hour
	}
	r.Before(zktest.OpMulti, raise)
	if h, err := r.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew of %v: %v, %v; want %v", g, h, err, coord.ErrQuarantined)
	}
	r.Before(zktest.OpMulti, raise)
	if h, err := r.Acquire(within(t), request(2)); err != nil || h.NotBefore < floor {
		t.Errorf("Acquire: %v, %v; want from %d on", h, err, floor)
	}
}

// TestSessionEndsBetween: the session of an acquisition ends before the grant. It gets
// another one, and the caller is not told.
func TestSessionEndsBetween(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	streamtest.Eventually(t, "the session of Init is over", func() bool { return len(r.server.Sessions(t)) == 1 })
	ended := 0
	r.Before(zktest.OpMulti, func() {
		for _, id := range r.server.Sessions(t) {
			if id != r.direct.SessionID() {
				r.server.KillSession(t, id)
				ended++
			}
		}
	})
	if g, err := r.Acquire(within(t), request(1)); err != nil || ended != 1 {
		t.Errorf("Acquire, of which %d sessions have ended: %v, %v", ended, g, err)
	}
}

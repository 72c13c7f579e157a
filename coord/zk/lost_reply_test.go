package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// robbed is a coordinator behind a proxy that loses answers.
type robbed struct {
	*zk.Coordinator
	*zktest.Proxy
	server    *zktest.Server
	direct    operator
	namespace string
}

func newRobbed(t *testing.T) *robbed {
	t.Helper()
	server := zktest.Start(t, zktest.Options{})
	r := &robbed{server: server, Proxy: zktest.StartProxy(t, server.Addr), direct: newOperator(t, []string{server.Addr}), namespace: rand.Text()}
	r.Coordinator = newCoordinator(t, []string{r.Addr}, r.namespace, nil)
	if err := r.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	return r
}

// hurried returns a context for a call that gets no answer. It is long enough for the
// request to get through on a slow machine, and all of it is waited for.
func hurried(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// held returns how many worker IDs are held.
func (r *robbed) held(t *testing.T) int {
	t.Helper()
	names, _, err := r.direct.Children(spacePath(r.namespace) + "/owners")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// The answers to the requests of an acquisition are lost, one at a time: the call
// finds out by itself.
func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	for _, op := range []int32{zktest.OpSet, zktest.OpGet, zktest.OpMulti} {
		before := r.held(t)
		r.Rob(op, 1, false)
		g, err := r.Acquire(within(t), request(capacity))
		if stole := r.Heal(); stole != 1 || err != nil {
			t.Fatalf("Acquire with %d answers to operation %d lost: %v", stole, op, err)
		}
		if n := r.held(t); n != before+1 {
			t.Errorf("%d worker IDs are held; want %d", n, before+1)
		}
		if g, err = r.Renew(within(t), g, g.NotAfter+1000); err != nil {
			t.Fatal(err)
		}
		if err := r.Release(within(t), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
	}
}

// All answers from the grant on are lost: the call fails, and the next one with the
// same token finds the same grant.
func TestLostRepliesOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	r.Rob(zktest.OpMulti, 1, true)
	req := request(1)
	if g, err := r.Acquire(hurried(t), req); err == nil {
		t.Fatalf("Acquire without answers returned %v", g)
	}
	if stole := r.Heal(); stole != 1 || r.held(t) != 1 {
		t.Fatalf("%d answers were lost and %d worker IDs are held; want 1", stole, r.held(t))
	}
	req.Now = tickNow() // the first call may have taken long
	g, err := r.Acquire(within(t), req)
	if err != nil {
		t.Fatalf("Acquire with the same token: %v", err)
	}
	if g.Generation != 1 || g.NotAfter != req.Until {
		t.Errorf("Acquire with the same token: %v; want generation 1, until %d", g, req.Until)
	}
}

// Nobody asks again: the worker ID is free after the TTL.
func TestForsakenAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	r.Rob(zktest.OpMulti, 1, true)
	req := request(1)
	req.TTL = 2 * time.Second
	if g, err := r.Acquire(hurried(t), req); err == nil {
		t.Fatalf("Acquire without answers returned %v", g)
	}
	r.Heal()
	streamtest.Eventually(t, "the worker ID is free", func() bool { return r.held(t) == 0 })
	if g := mustAcquire(t, r, request(1)); g.Generation != 2 || g.NotBefore < req.Until {
		t.Errorf("%v follows a grant until %d that nobody was told of", g, req.Until)
	}
}

// The answer to a renewal is lost: what was stored is adopted.
func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r, request(1))
	for i := range int64(3) {
		until := g.NotAfter + 1000
		r.Rob(zktest.OpMulti, 1, false)
		h, err := r.Renew(within(t), g, until)
		if stole := r.Heal(); stole != 1 {
			t.Fatalf("%d answers were lost; want 1", stole)
		}
		if err != nil || h.NotAfter != until || h.NotBefore != g.NotBefore {
			t.Fatalf("renewal %d of %v until %d with its answer lost: %v, %v", i, g, until, h, err)
		}
		g = h
	}
}

// All answers are lost: the call fails, and a renewal of the old grant goes on from
// what was stored.
func TestLostRepliesOnRenew(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r, request(1))
	r.Rob(zktest.OpMulti, 1, true)
	if h, err := r.Renew(hurried(t), g, g.NotAfter+2000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew without answers: %v, %v; want an error that is not definite", h, err)
	}
	r.Heal()
	h, err := r.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || h.NotAfter != g.NotAfter+2000 {
		t.Errorf("Renew of %v until %d after a lost one until %d: %v, %v", g, g.NotAfter+1000, g.NotAfter+2000, h, err)
	}
}

// The answer to a release is lost: the call finds out that it was done.
func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r, request(1))
	r.Rob(zktest.OpMulti, 1, false)
	err := r.Release(within(t), g, g.NotBefore+1)
	if stole := r.Heal(); stole != 1 || err != nil {
		t.Fatalf("Release with %d answers lost: %v; want 1 and no error", stole, err)
	}
	if n := r.held(t); n != 0 {
		t.Errorf("%d worker IDs are held; want none", n)
	}
	if h := mustAcquire(t, r, request(1)); h.NotBefore != g.NotBefore+1 {
		t.Errorf("%v was released at %d, the next is %v", g, g.NotBefore+1, h)
	}
}

// All answers are lost: the call fails, and asking again says that the grant is over.
func TestLostRepliesOnRelease(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r, request(1))
	r.Rob(zktest.OpMulti, 1, true)
	if err := r.Release(hurried(t), g, g.NotBefore); err == nil {
		t.Fatal("Release without answers returned no error")
	}
	r.Heal()
	if err := r.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release again: %v; want %v", err, coord.ErrLeaseLost)
	}
	mustAcquire(t, r, request(1))
}

// TestLostReplyAndALoss: the answer to a grant is lost, and before the call looks what
// became of it, another grant of the coordinator finds that writes were lost and raises
// the floor. What was granted before that is not used.
func TestLostReplyAndALoss(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	held := mustAcquire(t, r, request(1))
	r.Before(zktest.OpMulti, func() {
		r.Before(zktest.OpSet, func() {
			r.direct.deleteTree(t, slotPath(r.namespace, 0))
			if h, err := r.Renew(within(t), held, held.NotAfter+10); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("Renew without a slot: %v, %v; want %v", h, err, coord.ErrLeaseLost)
			}
		})
	})
	r.Rob(zktest.OpMulti, 1, false)
	before := tickNow()
	g, err := r.Acquire(within(t), request(2))
	if stole := r.Heal(); stole != 1 || err != nil {
		t.Fatalf("Acquire with %d answers lost: %v", stole, err)
	}
	if g.NotBefore < before+ward {
		t.Errorf("%v was granted after the loss; want from %d on", g, before+ward)
	}
	streamtest.Eventually(t, "what was lost, and what was not to be used, is not held", func() bool { return r.held(t) == 1 })
}

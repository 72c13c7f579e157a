package zk_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
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

// held returns how many worker IDs are held.
func (r *robbed) held(t *testing.T) int {
	t.Helper()
	names, _, err := r.direct.Children(spacePath(r.namespace) + "/owners")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// lossy is the coordinator behind the proxy. Of an acquisition, the answer to a request of
// its own is lost.
func (r *robbed) lossy(acquire int32) *drivertest.Lossy {
	return &drivertest.Lossy{
		Coordinator: r.Coordinator,
		Lose: func(op coordtest.Op, all bool) {
			request := int32(zktest.OpMulti)
			if op == coordtest.Acquire {
				request = acquire
			}
			r.Rob(request, 1, all)
		},
		Heal: r.Heal,
	}
}

func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	for _, op := range []int32{zktest.OpSet, zktest.OpGet, zktest.OpMulti} {
		drivertest.LostReplyOnAcquire(t, r.lossy(op))
	}
}

func TestLostRepliesOnAcquire(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnAcquire(t, newRobbed(t).lossy(zktest.OpMulti))
}

func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	drivertest.LostReplyOnRenew(t, newRobbed(t).lossy(zktest.OpMulti))
}

func TestLostRepliesOnRenew(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRenew(t, newRobbed(t).lossy(zktest.OpMulti))
}

func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	drivertest.LostReplyOnRelease(t, newRobbed(t).lossy(zktest.OpMulti))
}

func TestLostRepliesOnRelease(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRelease(t, newRobbed(t).lossy(zktest.OpMulti))
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

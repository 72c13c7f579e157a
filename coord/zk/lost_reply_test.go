package zk_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
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

// TestLostReplies: answers are lost, and in one case all that come later.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *drivertest.Lossy){
		"renew": drivertest.LostReplyOnRenew, "release": drivertest.LostReplyOnRelease, "all": drivertest.LostRepliesOnAcquire,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRobbed(t).lossy(zktest.OpMulti))
		})
	}
	t.Run("acquire", func(t *testing.T) {
		t.Parallel()
		r := newRobbed(t)
		for _, op := range []int32{zktest.OpSet, zktest.OpGet, zktest.OpMulti} {
			drivertest.LostReplyOnAcquire(t, r.lossy(op))
		}
	})
}

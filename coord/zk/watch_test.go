package zk_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestHintAfterALostWatch: the connection is lost together with the answer to the request
// for a watch. That the owner node is gone is told all the same.
func TestHintAfterALostWatch(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	req := request(capacity)
	req.TTL = 2 * callTime // so that the session does not end meanwhile, as nobody renews
	g := mustAcquire(t, r, req)
	asked := make(chan struct{})
	r.Rob(1, first(opExists, func() { close(asked) }))
	notice := r.Lost(g)
	<-asked
	for range 2 { // over the next connection
		var err error
		if g, err = r.Renew(within(t), g, g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
	}
	streamtest.Eventually(t, "the answer is lost", func() bool { return r.Robbed() == 1 })
	if err := r.direct.Delete(ownerPath(r.namespace, g.WorkerID), -1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-notice:
	case <-time.After(callTime):
		t.Error("there is no hint")
	}
}

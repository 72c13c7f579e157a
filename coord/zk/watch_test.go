package zk_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestHintAfterALostWatch: the connection is lost together with the answer to the request
// for a watch. That the session has ended is told all the same.
func TestHintAfterALostWatch(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r, request(capacity))
	asked := make(chan struct{})
	r.Before(zktest.OpExists, func() { close(asked) })
	robbed := r.Rob(zktest.OpExists)
	notice := r.Lost(g)
	<-asked
	for range 2 { // over the next connection
		var err error
		if g, err = r.Renew(within(t), g, g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
	}
	<-robbed
	endSession(t, r.direct, r.server, r.namespace, g.WorkerID)
	select {
	case <-notice:
	case <-time.After(callTime):
		t.Error("there is no hint")
	}
}

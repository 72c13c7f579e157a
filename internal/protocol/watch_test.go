package protocol_test

import (
	"testing"
	"testing/synctest"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestResumeEndsTheWatch: nobody waits for a hint about a grant that another one has taken
// the place of: none comes when its lease is gone.
func TestResumeEndsTheWatch(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c := process(t, server)
		g := mustAcquire(t, c, wants("old"))
		old := c.Lost(g)
		synctest.Wait()
		r, err := c.Resume(t.Context(), g, "new", g.NotAfter+1)
		if err != nil {
			t.Fatal(err)
		}
		now := c.Lost(r)
		server.Expire(g.WorkerID)
		synctest.Wait()
		select {
		case <-old:
			t.Error("there is a hint about the grant that was resumed")
		default:
		}
		<-now
	})
}

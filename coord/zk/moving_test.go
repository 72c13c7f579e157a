package zk_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestEndOfOnlyReads: looking how far a namespace has come writes neither the record of a
// namespace nor a slot.
func TestEndOfOnlyReads(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	servers, ns := []string{server.Addr}, rand.Text()
	c, o := newCoordinator(t, servers, ns, nil), newOperator(t, servers)
	g := mustAcquire(t, c, request(1))
	if err := c.Release(within(t), g, g.NotAfter); err != nil {
		t.Fatal(err)
	}
	written := func() (zxids [2]int64) {
		t.Helper()
		for i, path := range []string{spacePath(ns) + "/meta", slotPath(ns, 0)} {
			there, stat, err := o.Exists(path)
			if err != nil || !there {
				t.Fatalf("%s: %v, %v", path, there, err)
			}
			zxids[i] = stat.Mzxid
		}
		return zxids
	}
	if _, err := o.Sync("/"); err != nil {
		t.Fatal(err)
	}
	before := written()
	end, err := follow.EndOf(within(t), c, space())
	if want := scale().Micro(g.NotAfter + 1); err != nil || end.Until.UnixMicro() != want {
		t.Errorf("EndOf: %+v, %v; want the end of tick %d", end, err, g.NotAfter)
	}
	if after := written(); after != before {
		t.Errorf("EndOf has written: meta and slot are of the transactions %v and were of %v", after, before)
	}
}

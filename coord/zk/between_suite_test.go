package zk_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// quietTime is for how long a client sends nothing if it waits for answers. Where the
// machine is slower than that, something happens between two requests that are sent
// together, too.
const quietTime = 20 * time.Millisecond

// TestBetween runs the suite's cases in which something happens between the round trips
// of one operation. The server is an ensemble, so that each loss is followed by an
// election: the numbers of transactions do not fall.
func TestBetween(t *testing.T) {
	fulltest.Long(t, "32 servers")
	server := zktest.StartEnsemble(t, 1, zktest.Options{}).Servers[0]
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		ns, o := rand.Text(), newOperator(tb, []string{server.Addr})
		var mu sync.Mutex
		proxies := map[coord.Coordinator]*zktest.Proxy{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					proxy := zktest.StartProxy(tb, server.Addr)
					proxy.Measure(quietTime)
					c := newCoordinator(tb, []string{proxy.Addr}, ns, &zk.Options{SkewBound: 40 * time.Second, Lease: coord.LeaseConfig{TTL: 2 * time.Second}})
					mu.Lock()
					defer mu.Unlock()
					proxies[c] = proxy
					return c
				},
				OtherNamespace: participant([]string{server.Addr}, rand.Text()),
				Expire: func(tb testing.TB, g coord.Grant) {
					tb.Helper()
					endSession(tb, o, server, ns, g.WorkerID)
				},
				RaiseFloor: func(tb testing.TB, tick int64) {
					tb.Helper()
					raiseFloor(tb, []string{server.Addr}, ns, tick)
				},
				Sticky: true,
			},
			Lose: func(tb testing.TB) func() {
				tb.Helper()
				return restorable(t, server)
			},
			Before: func(_ testing.TB, c coord.Coordinator, n int, act func()) func() bool {
				mu.Lock()
				defer mu.Unlock()
				return proxies[c].BeforeWave(n, act)
			},
		}
	})
}

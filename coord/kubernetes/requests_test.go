package kubernetes_test

import (
	"crypto/rand"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestRequests: how many requests operations make does not depend on how many worker IDs are
// held.
func TestRequests(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	var made atomic.Int32 // requests, but for watches
	counted := func() int32 { return made.Swap(0) }
	holder := c.with(t, c.Client(t, "",
		func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.URL.Query().Get("watch") == "" {
				made.Add(1)
			}
			return next.RoundTrip(r)
		}), ns, kubernetes.Options{})
	if err := holder.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	all := drivertest.Crowd[protocol.Full]{
		Members: []protocol.Full{c.new(t, ns, kubernetes.Options{})},
	}
	for _, held := range []int{0, fulltest.Rounds(40, 1000)} {
		all.Acquire(t, held, 16)
		for range 3 {
			counted()
			req := drivertest.Request(drivertest.Capacity)
			g := drivertest.MustAcquire(t, holder, req)
			if n := counted(); n != 5 && n != 3 { // it makes a Lease, or takes one that is free
				t.Errorf("Acquire with %d held makes %d requests; want 5, or 3 the second time that a "+
					"worker ID is used", held, n)
			}
			g, err := holder.Renew(drivertest.Within(t), g, g.NotAfter+100)
			if n := counted(); err != nil || n != 2 {
				t.Errorf("Renew with %d held makes %d requests, %v; want 2", held, n, err)
			}
			if err := holder.Release(drivertest.Within(t), g, g.NotBefore); err != nil {
				t.Error(err)
			}
		}
	}
}

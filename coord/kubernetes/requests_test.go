package kubernetes_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestRequests: how many requests operations make does not depend on how many worker IDs are
// held.
func TestRequests(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	holder, l := c.linked(t, ns)
	if err := holder.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	all := drivertest.Crowd[*kubernetes.Coordinator]{Namespace: ns, Members: []*kubernetes.Coordinator{c.new(t, ns, kubernetes.Options{})}}
	for _, held := range []int{0, fulltest.Rounds(40, 1000)} {
		all.Acquire(t, held, 16)
		for range 3 {
			l.counted()
			req := drivertest.Request(drivertest.Capacity)
			g := drivertest.MustAcquire(t, holder, req)
			if n := l.counted(); n != 5 && n != 3 { // it makes a Lease, or takes one that is free
				t.Errorf("Acquire with %d held makes %d requests; want 5, or 3 the second time that a worker ID is used", held, n)
			}
			g, err := holder.Renew(drivertest.Within(t), g, g.NotAfter+100)
			if n := l.counted(); err != nil || n != 2 {
				t.Errorf("Renew with %d held makes %d requests, %v; want 2", held, n, err)
			}
			if err := holder.Release(drivertest.Within(t), g, g.NotBefore); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCrowd: as many start at once as there are worker IDs, in a namespace that nobody has used.
func TestCrowd(t *testing.T) {
	c := newCluster(t)
	n, ns := fulltest.Rounds(96, drivertest.Capacity), rand.Text()
	all := drivertest.Crowd[coord.Coordinator]{Namespace: ns}
	var links []*link
	for range 16 {
		k, l := c.linked(t, ns)
		all.Members, links = append(all.Members, k), append(links, l)
	}
	began := time.Now()
	defer func() {
		sum := 0
		for _, l := range links {
			sum += l.counted()
		}
		t.Logf("%d starters: %v, %d requests", n, time.Since(began), sum)
	}()
	all.Acquire(t, n, n)
}

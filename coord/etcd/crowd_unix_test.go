//go:build unix

package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestCrowd: as many generators as there are worker IDs start at once on a cluster of
// three, all of them succeed, and one more is refused soon.
func TestCrowd(t *testing.T) {
	fulltest.Long(t, "a thousand programs")
	n := fulltest.Rounds(96, 1024)
	for _, ttl := range []time.Duration{5 * time.Second, coord.DefaultTTL} {
		cluster := etcdtest.StartCluster(t, 3)
		ns := rand.Text()
		var crowd []coord.Coordinator
		for range 16 {
			crowd = append(crowd, newCoordinator(t, cluster.Client(t), ns, nil))
		}
		lease := coord.LeaseConfig{TTL: ttl, WorkerIDs: coord.Range{Count: n}}
		ctx, cancel := context.WithTimeout(t.Context(), 4*callTime)
		defer cancel()
		took, errs := make([]time.Duration, n), make([]error, n)
		generators := make([]*core.Generator, n)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				generators[i], errs[i] = core.New(ctx, crowd[i%len(crowd)], core.Config{Lease: lease})
				took[i] = time.Since(began)
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Errorf("one of %d starters, with TTL %v: %v", n, ttl, err)
				break
			}
		}
		slices.Sort(took)
		t.Logf("TTL %v: %d starters; half of them after %v, all after %v", ttl, n, took[n/2], took[n-1])
		for _, holders := range []string{"that have just started", "that have renewed"} {
			began = time.Now()
			_, err := core.New(ctx, crowd[0], core.Config{Lease: lease, StartTimeout: 5 * time.Second})
			t.Logf("one more, beside holders %s: refused after %v", holders, time.Since(began))
			if !errors.Is(err, coord.ErrNoWorkerID) {
				t.Errorf("one more than there are worker IDs: %v; want %v", err, coord.ErrNoWorkerID)
			}
		}
		for _, g := range generators {
			if g != nil {
				wg.Go(func() { _ = g.Close(ctx) })
			}
		}
		wg.Wait()
	}
}

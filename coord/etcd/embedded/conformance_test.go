package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestConformance: participants join the server of one that stays.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	openFolder(t, dir, "host", nil)
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		return harness(tb, dir)
	})
}

func harness(tb testing.TB, dir string) coordtest.Harness {
	tb.Helper()
	ns := rand.Text()
	participant := func(ns string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return openFolder(tb, dir, ns, nil)
		}
	}
	return coordtest.Harness{
		Client:         participant(ns),
		OtherNamespace: participant(rand.Text()),
		Expire: func(tb testing.TB, g coord.Grant) {
			tb.Helper()
			endLease(tb, openFolder(tb, dir, ns, nil), ns, g.WorkerID)
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, openFolder(tb, dir, ns, nil), tick)
		},
		Sticky: true,
	}
}

// endLease revokes the lease of whoever holds a worker ID, if anybody does.
func endLease(tb testing.TB, c *Coordinator, namespace string, worker int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	defer cancel()
	owner, err := c.client.Get(ctx, fmt.Sprintf("/unalike/%s/owner/%010d", namespace, worker))
	if err != nil {
		tb.Fatal(err)
	}
	for _, kv := range owner.Kvs {
		if _, err := c.client.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err != nil {
			tb.Fatal(err)
		}
	}
}

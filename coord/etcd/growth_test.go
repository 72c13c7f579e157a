package etcd_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestGrowth: an etcd that keeps everything grows by at most 400 bytes with each renewal.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const holders, renewals, most = 32, 20, 400.0
	client := etcdtest.Start(t).Client(t)
	c := newCoordinator(t, client, "orders")
	var held [holders]coord.Grant
	for i := range held {
		req := request(capacity)
		req.Identity = fmt.Sprintf("orders-7d9c6b5f4-abc%02d", i)
		req.Holder = req.Identity + ":1 (10.1.2.3)"
		held[i] = mustAcquire(t, c, req)
	}
	before := inUse(t, client)
	var renewing sync.WaitGroup
	for _, g := range held {
		renewing.Go(func() {
			for range renewals {
				var err error
				if g, err = c.Renew(within(t), g, g.NotAfter+1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	renewing.Wait()
	if per := float64(inUse(t, client)-before) / (holders * renewals); per > most {
		t.Errorf("the database has grown by %.0f bytes a renewal; at most %.0f are allowed", per, most)
	}
}

// inUse is how many bytes of the database are in use, with everything that was written so far:
// who asks for a snapshot has it all written.
func inUse(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	snapshot, err := client.Snapshot(within(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, snapshot)
	if err := errors.Join(err, snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	status, err := client.Status(within(t), client.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return status.DbSizeInUse
}

package etcd_test

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client, ns := server.Client(t), drivertest.LongName()
	l := drivertest.Limits{Workers: drivertest.Most(1 << 16)}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		return newCoordinator(tb, server.Client(tb), ns)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		var all []clientv3.Op
		for _, folder := range []string{"owner", "slot", "holder"} {
			key := func(worker int) string { return fmt.Sprintf("/unalike/%s/%s/%010d", ns, folder, worker) }
			resp, err := client.Get(within(tb), key(0))
			if err != nil {
				tb.Fatal(err)
			}
			kv := resp.Kvs[0]
			for id := 1; id < l.Workers; id++ {
				all = append(all, clientv3.OpPut(key(id), like(string(kv.Value), id),
					clientv3.WithLease(clientv3.LeaseID(kv.Lease))))
			}
		}
		drivertest.InParts(tb, all, 128, func(part []clientv3.Op) error {
			_, err := client.Txn(within(tb)).Then(part...).Commit()
			return err
		})
	}
	l.Run(t)
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client(t)
	drivertest.Stripes(t, newCoordinator(t, client, "ns"), nil)
}

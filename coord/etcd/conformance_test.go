package etcd_test

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestConformance(t *testing.T) {
	server := etcdtest.Start(t)
	operator := server.Client(t)
	drivertest.Conformance(t, func(testing.TB) drivertest.Driver {
		return drivertest.Driver{
			Open: func(tb testing.TB, ns string) drivertest.Operator {
				tb.Helper()
				return newCoordinator(tb, server.Client(tb), ns) // with a connection of its own
			},
			Expire: func(tb testing.TB, ns string, worker int) {
				tb.Helper()
				endLease(tb, operator, ns, worker)
			},
		}
	})
}

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, client *clientv3.Client, ns string) protocol.Full {
	tb.Helper()
	c, err := etcd.New(client, ns, etcd.Options{})
	return drivertest.Closing(tb, c, err).(protocol.Full)
}

// ownerKey is the key that a holder has on its lease.
func ownerKey(namespace string, worker int) string {
	return fmt.Sprintf("/unalike/%s/owner/%010d", namespace, worker)
}

// slotKey is the key of a worker ID's window.
func slotKey(namespace string, worker int) string {
	return fmt.Sprintf("/unalike/%s/slot/%010d", namespace, worker)
}

// endLease revokes the lease of whoever holds a worker ID, if anybody does.
func endLease(tb testing.TB, client *clientv3.Client, namespace string, worker int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	defer cancel()
	resp, err := client.Get(ctx, ownerKey(namespace, worker))
	if err != nil {
		tb.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if _, err := client.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err != nil {
			tb.Fatal(err)
		}
	}
}

package etcd_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestConformance(t *testing.T) {
	server := etcdtest.Start(t)
	operator := server.Client(t)
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns := rand.Text()
		return coordtest.Harness{
			Client:         participant(server, ns),
			OtherNamespace: participant(server, rand.Text()),
			Expire: func(tb testing.TB, g coord.Grant) {
				tb.Helper()
				endLease(tb, operator, ns, g.WorkerID)
			},
			RaiseFloor: func(tb testing.TB, tick int64) { tb.Helper(); raiseFloor(tb, operator, ns, tick) },
			Sticky:     true,
		}
	})
}

func TestAdmin(t *testing.T) {
	server := etcdtest.Start(t)
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness {
		return coordtest.Harness{Client: participant(server, rand.Text())}
	})
}

// participant makes participants with a connection of their own.
func participant(server *etcdtest.Server, namespace string) func(testing.TB,
	coord.Range) coord.Coordinator {
	return func(tb testing.TB, _ coord.Range) coord.Coordinator {
		tb.Helper()
		return newCoordinator(tb, server.Client(tb), namespace)
	}
}

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, client *clientv3.Client, ns string) *etcd.Coordinator {
	tb.Helper()
	c, err := etcd.New(client, ns, etcd.Options{})
	return drivertest.Closing(tb, c, err)
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

// raiseFloor raises the floor of a namespace, which it makes if need be.
func raiseFloor(tb testing.TB, client *clientv3.Client, namespace string, tick int64) {
	tb.Helper()
	drivertest.RaiseFloor(tb, newCoordinator(tb, client, namespace), tick)
}

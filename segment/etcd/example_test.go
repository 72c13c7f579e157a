package etcd_test

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/etcd"
)

// A program numbers its orders from the etcd cluster that it has a client for.
func ExampleNew() {
	number := func(ctx context.Context, endpoints []string) (int64, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
		if err != nil {
			return 0, err
		}
		defer client.Close()
		store, err := etcd.New(client, "shop", etcd.Options{})
		if err != nil {
			return 0, err
		}
		defer store.Close() // leaves the client as it is
		orders, err := segment.New(ctx, store, "orders", segment.Config{})
		if err != nil {
			return 0, err
		}
		defer orders.Close(ctx) // gives back those that were not used
		return orders.NextContext(ctx)
	}
	_ = number
}

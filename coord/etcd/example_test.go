package etcd_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/coord/follow"
	_ "github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
)

// A program that has an etcd client already.
func ExampleNew() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{"etcd1:2379", "etcd2:2379", "etcd3:2379"},
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close() // last
	c, err := etcd.New(client, "orders", etcd.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close() // after the generators
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		log.Print(err)
		return
	}
	defer g.Close(ctx) // gives the worker ID back
	fmt.Println(g.Next())
}

// A program that takes the coordinator from its configuration. The import of this
// package, for its side effect alone, makes the scheme known.
func Example_url() {
	ctx := context.Background()
	c, err := coord.Open(ctx, "etcd://etcd1:2379,etcd2:2379,etcd3:2379/orders?ttl=15s&horizon=60s",
		coord.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close() // after the generators
	g, err := core.New(ctx, c, core.Config{Lease: coord.LeaseConfig{Identity: "orders-0"}})
	if err != nil {
		log.Print(err)
		return
	}
	defer g.Close(ctx)
	fmt.Println(g.Next())
}

// An operator's program that moves a namespace from state files to etcd. The
// generators of both are stopped while it runs.
func Example_follow() {
	ctx := context.Background()
	prev, err := coord.Open(ctx, "static://?worker=7&state=/var/lib/app/unalike.state",
		coord.OpenOptions{})
	if err != nil {
		log.Print(err)
		return
	}
	defer prev.Close()
	next, err := coord.Open(ctx, "etcd://etcd1:2379,etcd2:2379,etcd3:2379/orders", coord.OpenOptions{})
	if err != nil {
		log.Print(err)
		return
	}
	defer next.Close()
	floor, err := follow.Namespace(ctx, next, prev, core.DefaultLayout().Space())
	fmt.Println("IDs begin after", floor, err)
}

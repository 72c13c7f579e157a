package etcd_test

import (
	"context"
	"errors"
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
	issue := func(ctx context.Context) (err error) {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:            []string{"etcd1:2379", "etcd2:2379", "etcd3:2379"},
			DialKeepAliveTime:    10 * time.Second,
			DialKeepAliveTimeout: 3 * time.Second,
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		c, err := etcd.New(client, "orders", etcd.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		g, err := core.New(ctx, c, core.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close(ctx)) }()

		id, err := g.Next()
		if err != nil {
			return err
		}
		fmt.Println(id)
		return nil
	}
	if err := issue(context.Background()); err != nil {
		log.Fatal(err)
	}
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
	move := func(ctx context.Context) (err error) {
		prev, err := coord.Open(ctx, "static://?worker=7&state=/var/lib/app/unalike.state",
			coord.OpenOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, prev.Close()) }()
		next, err := coord.Open(ctx, "etcd://etcd1:2379,etcd2:2379,etcd3:2379/orders",
			coord.OpenOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, next.Close()) }()
		floor, err := follow.Namespace(ctx, next, prev, core.DefaultLayout().Space())
		if err != nil {
			return err
		}
		fmt.Println("IDs begin after", floor)
		return nil
	}
	if err := move(context.Background()); err != nil {
		log.Fatal(err)
	}
}

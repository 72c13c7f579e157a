package redis_test

import (
	"context"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
)

// A program that has a Redis client already.
func ExampleNew() {
	ctx := context.Background()
	client := goredis.NewClient(&goredis.Options{Addr: "redis:6379"})
	defer client.Close() // last
	c, err := redis.New(client, "orders", redis.Options{})
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

// The master is found through Sentinel.
func ExampleNew_sentinel() {
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName:    "mymaster",
		SentinelAddrs: []string{"sentinel1:26379", "sentinel2:26379", "sentinel3:26379"},
	})
	// min-replicas-max-lag of the servers is 2 s.
	c, err := redis.New(client, "orders", redis.Options{SkewBound: 3 * time.Second})
	_, _ = c, err
}

// A program that takes the coordinator from its configuration. The import of this
// package, for its side effect alone, makes the schemes known.
func Example_url() {
	ctx := context.Background()
	c, err := coord.Open(ctx,
		"redis-sentinel://sentinel1,sentinel2,sentinel3/mymaster/0?namespace=orders", coord.OpenOptions{})
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

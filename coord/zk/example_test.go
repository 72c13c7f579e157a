package zk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
)

// A generator on a worker ID that ZooKeeper leases.
func Example() {
	servers := []string{"zk1:2181", "zk2:2181", "zk3:2181"}
	c, err := zk.New(servers, "orders", zk.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx := context.Background()
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx) // gives the worker ID back
	fmt.Println(g.Next())
}

// The same from a URL, with credentials and below a node of its own.
func Example_url() {
	ctx := context.Background()
	c, err := coord.Open(ctx,
		"zk://orders:secret@zk1:2181,zk2:2181,zk3:2181/apps?namespace=orders&ttl=10s",
		coord.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
}

func ExampleNew() {
	c, err := zk.New([]string{"zk1", "zk2", "zk3"}, "orders", zk.Options{
		Chroot: "/apps",
		User:   "orders", Password: "secret",
		Lease: coord.LeaseConfig{TTL: 10 * time.Second},
	})
	fmt.Println(err)
	c.Close()

	_, err = zk.New([]string{"zk1"}, "orders", zk.Options{Chroot: "apps"})
	why, allowed, _ := strings.Cut(err.Error(), "; ")
	fmt.Println(errors.Is(err, coord.ErrInvalid), why)
	fmt.Println(allowed)
	// Output:
	// <nil>
	// true unalike: invalid: the chroot is "apps"
	// it is an absolute path without control characters, dots and empty names, such as /apps
}

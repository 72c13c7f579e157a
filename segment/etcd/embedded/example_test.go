package embedded_test

import (
	"context"
	"fmt"
	"os"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/etcd/embedded"
)

// A program without a server numbers its orders from an etcd that runs in the program.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	store, err := embedded.New(ctx, dir, "shop", embedded.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if err := store.Create(ctx, segment.Tag{Name: "orders", Next: 1, Step: 100}); err != nil {
		fmt.Println(err)
		return
	}
	orders, err := segment.New(ctx, store, "orders", segment.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close(ctx)
	fmt.Println(orders.NextContext(ctx))
	// Output: 1 <nil>
}

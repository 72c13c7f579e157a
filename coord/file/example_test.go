package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/core"
)

// A generator leases a worker ID from a file, and an operator lists the worker IDs in it.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	var c coord.AdminCoordinator
	if c, err = file.New(filepath.Join(dir, "ids"), file.Options{Namespace: "orders"}); err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	// Nothing was granted before, so there is nothing to wait for.
	if err := c.Init(ctx, core.DefaultLayout().Space()); err != nil {
		fmt.Println(err)
		return
	}
	g, err := core.New(ctx, c, core.Config{Lease: coord.LeaseConfig{Identity: "web-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)

	slots, err := c.List(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range slots {
		fmt.Println(s.State, s.Identity, s.State == coord.SlotHeld)
	}
	info, err := c.Inspect(ctx)
	fmt.Println(info.Layout == core.DefaultLayout().String(), info.Closed, err)
	// Output:
	// held web-1 true
	// true false <nil>
}

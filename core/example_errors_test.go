package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/core"
)

// A service that begins before its coordinator answers tells its callers why there is no ID.
func ExampleNotStartedError() {
	ctx := context.Background()
	c, err := file.New("/missing/folder/ids", file.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	g, err := core.Start(c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)

	_, err = g.Next()
	var (
		starting *core.NotStartedError
		waiting  *core.WindowNotOpenError
		ended    *core.WindowEndedError
	)
	switch {
	case errors.As(err, &starting):
		fmt.Println("no worker ID is leased yet")
	case errors.As(err, &waiting):
		fmt.Println("IDs come from", waiting.Opens)
	case errors.As(err, &ended):
		fmt.Println("no IDs since", ended.Ended)
	default:
		fmt.Println(err)
	}
	// Output: no worker ID is leased yet
}

// A program counts the calls to its coordinator.
func ExampleGenerator_OnCall() {
	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	c, err := file.New(filepath.Join(dir, "ids"), file.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	g, err := core.New(ctx, c, core.Config{OnCall: func(call coord.Call) {
		if call.Op != "renew" {
			fmt.Println(call.Op, call.Err)
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Close(ctx); err != nil {
		fmt.Println(err)
		return
	}
	// Output:
	// acquire <nil>
	// release <nil>
}

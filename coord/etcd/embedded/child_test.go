package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// The environment of a child process: the test binary, started again to use a folder.
const (
	childDir  = "UNALIKE_TEST_CHILD_DIR"  // set: be a child
	childWork = "UNALIKE_TEST_CHILD_WORK" // what to do there, see works
	childWeak = "UNALIKE_TEST_CHILD_WEAK" // not empty: give up the rights of root
)

// works are what a child can do with the folder's coordinator.
var works = map[string]func(context.Context, *coordinator) error{
	// The child prints where the server is, and stays until it is killed or its input
	// ends.
	"stay": func(_ context.Context, c *coordinator) error {
		fmt.Println(address(c))
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	// The child prints one ID of each of two worker IDs, and stays until it is killed.
	"stripes": func(ctx context.Context, c *coordinator) error {
		g, err := core.New(ctx, c, core.Config{Stripes: 2})
		if err != nil {
			return err
		}
		fmt.Println(g.Health().Healthy)
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	},
}

// childMain is a child, if the process was started to be one.
func childMain() {
	dir, ok := os.LookupEnv(childDir)
	if !ok {
		return
	}
	if err := beChild(dir); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func beChild(dir string) error {
	if os.Getenv(childWeak) != "" {
		if err := becomeNobody(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*callTime)
	defer cancel()
	c, err := newCoordinator(ctx, dir, "children", Options{})
	if err != nil {
		return err
	}
	return errors.Join(works[os.Getenv(childWork)](ctx, c), c.Close())
}

// startChild starts a child with something to do in a folder.
func startChild(tb testing.TB, dir, work string, env ...string) *drivertest.Child {
	tb.Helper()
	return drivertest.StartChild(tb,
		append([]string{childDir + "=" + dir, childWork + "=" + work}, env...)...)
}

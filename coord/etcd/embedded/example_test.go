package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/core"
)

// A program that needs no server: the etcd runs in it, and a second program on the
// same folder joins.
func ExampleNew() {
	dir, remove := folder()
	defer remove()
	ctx := context.Background()

	run := func() (err error) {
		c, err := embedded.New(ctx, dir, "orders", embedded.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		g, err := core.New(ctx, c, core.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close(ctx)) }()
		a, err := g.Next()
		if err != nil {
			return err
		}
		b, err := g.Next()
		if err != nil {
			return err
		}
		fmt.Println(a < b)
		return nil
	}
	if err := run(); err != nil {
		fmt.Println(err)
	}
	// Output: true
}

// With a URL, the coordinator can come from the configuration.
func Example_url() {
	dir, remove := folder()
	defer remove()

	// On Windows, write embed:///C:/folder.
	url := "embed://" + filepath.ToSlash(dir) + "?namespace=orders&ttl=10s"
	c, err := coord.Open(context.Background(), url, coord.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := driver.ResolveLease(coord.Describe(c).Rules, coord.LeaseConfig{})
	fmt.Println(lease.TTL, lease.Horizon, err)
	if err := c.Close(); err != nil {
		fmt.Println(err)
	}
}

// folder names a folder for an example, and a function that removes it.
func folder() (dir string, remove func()) {
	top, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
	}
	// a leftover among temporary files
	return filepath.Join(top, "ids"), func() { _ = os.RemoveAll(top) }
}

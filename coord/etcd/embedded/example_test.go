package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/core"
)

// A program that needs no server: the etcd runs in it, and a second program on the
// same folder joins.
func ExampleNew() {
	dir, remove := folder()
	defer remove()
	ctx := context.Background()
	c, err := embedded.New(ctx, dir, "orders", embedded.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close() // after the generators
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx) // gives the worker ID back
	a, _ := g.Next()
	b, err := g.Next()
	fmt.Println(a < b, err)
	// Output: true <nil>
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
	fmt.Println(c.Close())
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

package embedded_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/core"
)

// A program that needs no server: the etcd runs in it, and a second program on the
// same folder joins.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in the temporary folder

	c, err := embedded.New(ctx, filepath.Join(dir, "ids"), "orders", nil)
	if err != nil {
		log.Fatal(err)
	}
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	b, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a < b)
	if err := g.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: true
}

// With a URL, the coordinator can come from the configuration.
func Example_url() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in the temporary folder

	// On Windows, write embed:///C:/folder.
	c, err := coord.Open(ctx, "embed://"+filepath.ToSlash(dir)+"/ids?namespace=orders&ttl=10s")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(coord.ResolveLease(c, coord.LeaseConfig{}))
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
}

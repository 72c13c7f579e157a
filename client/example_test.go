package client_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/server"
)

// A program has IDs from a server, and most of them from memory.
func ExampleNew() {
	ctx := context.Background()
	g, err := core.New(ctx, coordtest.NewFake(coordtest.FakeConfig{}).Client(), core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	s, err := server.New(server.Config{Generators: map[string]*core.Generator{"default": g}})
	if err != nil {
		fmt.Println(err)
		return
	}
	page := httptest.NewServer(s) // as 'unalike serve' is one
	defer page.Close()

	c, err := client.New([]string{page.URL}, client.Options{Prefetch: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	first, err1 := c.Next()
	second, err2 := c.Next()
	fmt.Println(first < second, err1, err2)
	// Output: true <nil> <nil>
}

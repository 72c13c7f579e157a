package kubernetes_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/core"
)

// A program that has a client already.
func ExampleNew() {
	ctx := context.Background()
	client := &http.Client{} // or one of client-go's rest.HTTPClientFor
	c, err := kubernetes.New(client, "http://127.0.0.1:8001", "orders", kubernetes.Options{In: "shop"})
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close() // after the generator
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		log.Print(err)
		return
	}
	defer g.Close(ctx)
	fmt.Println(g.Next())
}

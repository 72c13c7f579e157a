package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/server"
)

// A program mounts the server as any other http.Handler.
func ExampleNew() {
	ctx := context.Background()
	c := coordtest.NewFake(coordtest.FakeConfig{}).Client() // in a program: coord.Open
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	s, err := server.New(server.Config{Generators: map[string]*core.Generator{"orders": g}})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest("GET", "http://localhost/v1/generators/orders/ids", nil)
	s.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 application/json
}

package probe_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/probe"
)

// A program that serves while its coordinator is away is not ready until it has a worker ID.
func ExampleHandler() {
	ctx := context.Background()
	back := coordtest.NewFake(coordtest.FakeConfig{}) // in a program: coord.Open
	g, err := core.Start(back.Client(), core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	if err := g.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	var target probe.Target = g
	answer := httptest.NewRecorder()
	probe.Handler(target).ServeHTTP(answer, httptest.NewRequest("GET", "/ready", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output: 200 ready
}

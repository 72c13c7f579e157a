package coord_test

import (
	"context"
	"fmt"

	"github.com/unalike-id/unalike/core"
)

// A coordinator of one's own, here one in memory, is used as any other. Its code, which is in
// example_coordinator_test.go, imports this package alone and passes package coordtest.
func ExampleCoordinator() {
	ctx := context.Background()
	c := &inMemory{slots: map[int]slot{}}
	defer c.Close()
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	id, err := g.Next()
	fmt.Println(g.Layout().Decompose(id).WorkerID, err)
	// Output: 0 <nil>
}

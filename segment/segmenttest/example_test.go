package segmenttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// The test of a store runs the suite on it.
func ExampleRun() {
	var open segmenttest.Open = func(testing.TB) segment.Store {
		return segmenttest.NewFake() // in a store's test: a store on a real server
	}
	_ = func(t *testing.T) { segmenttest.Run(t, open) } // TestConformance
}

// A program's test has the store refuse once, and sees that numbers come all the same.
func ExampleFake_Intercept() {
	ctx := context.Background()
	store := segmenttest.NewFake(segment.Tag{Name: "orders", Next: 1, Step: 100})
	refused := false
	var once segmenttest.Between = func(_ context.Context, op, _ string, do func() error) error {
		if op == "take" && !refused {
			refused = true
			return errors.New("the connection was cut")
		}
		return do()
	}
	store.Intercept(once)
	orders, err := segment.New(ctx, store, "orders", segment.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close(ctx)
	fmt.Println(orders.NextContext(ctx))
	fmt.Println(store.Calls("take"))
	// Output:
	// 1 <nil>
	// 2
}

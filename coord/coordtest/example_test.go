package coordtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// A driver's test runs the suite on a back end that is empty in each case.
func ExampleRun() {
	newHarness := func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		namespace := coordtest.NewFake(coordtest.FakeConfig{}) // in a driver's test: a real server
		other := coordtest.NewFake(coordtest.FakeConfig{})
		return coordtest.Harness{
			Client: func(testing.TB, coord.Range) coord.Coordinator { return namespace.Client() },
			OtherNamespace: func(testing.TB, coord.Range) coord.Coordinator {
				return other.Client()
			},
			Expire: func(_ testing.TB, g coord.Grant) { namespace.Expire(g.WorkerID) },
		}
	}
	_ = func(t *testing.T) { // TestConformance
		coordtest.Run(t, newHarness)
		coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
			tb.Helper()
			return coordtest.BetweenHarness{Harness: newHarness(tb)}
		})
	}
}

// A program's test delays what its generator asks for, and looks at the calls.
func ExampleFake() {
	ctx := context.Background()
	back := coordtest.NewFake(coordtest.FakeConfig{})
	g, err := core.New(ctx, back.Client(), core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	slow := back.HoldBack(coordtest.Renew, 1) // the next renewal is under way for long
	defer slow.Deliver()
	if err := g.Close(ctx); err != nil {
		fmt.Println(err)
		return
	}
	calls := back.CallsOf(coordtest.Acquire)
	fmt.Println(len(calls), calls[0].Op == coordtest.Acquire, calls[0].Result.Generation)
	// Output: 1 true 1
}

package coord_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// A program whose start has failed says what an operator has to do.
func ExampleNoWorkerIDError() {
	ctx := context.Background()
	c := coordtest.NewFake(coordtest.FakeConfig{Workers: 1}).Client() // stands for any coordinator
	defer c.Close()
	one := core.Config{StartTimeout: 100 * time.Millisecond}
	g, err := core.New(ctx, c, one)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)

	_, err = core.New(ctx, c, one) // another one, for which there is no worker ID
	var (
		full     *coord.NoWorkerIDError
		early    *coord.QuarantinedError
		mismatch *coord.LayoutMismatchError
		skew     *coord.ClockSkewError
	)
	switch {
	case errors.As(err, &full):
		fmt.Printf("%d of %d worker IDs are held\n", full.InUse, full.Capacity)
	case errors.As(err, &early):
		fmt.Println("wait until", early.Until)
	case errors.As(err, &mismatch):
		fmt.Println("use the layout", mismatch.Stored)
	case errors.As(err, &skew):
		fmt.Println("set the clock to", skew.Reference)
	default:
		fmt.Println(err)
	}
	// Output: 1 of 1 worker IDs are held
}

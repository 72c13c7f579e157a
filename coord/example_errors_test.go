package coord_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/core"
)

// A program whose start has failed says what an operator has to do.
func ExampleNoWorkerIDError() {
	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	c, err := coord.Open(ctx, "file:"+filepath.Join(dir, "ids"), coord.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	one := core.Config{
		Lease:        coord.LeaseConfig{WorkerIDs: coord.Range{First: 7, Count: 1}},
		StartTimeout: 100 * time.Millisecond,
	}
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

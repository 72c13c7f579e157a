// Package streamtest has what tests of generators on real servers share: how long a call may take,
// how one waits, and a generator whose back end is slow.
package streamtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// CallTime is for one call on a machine that is busy with other things.
const CallTime = 30 * time.Second

// Within returns a context for one call.
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), CallTime)
	tb.Cleanup(cancel)
	return ctx
}

// Generate starts a generator that is closed with the test.
func Generate(tb testing.TB, c coord.Coordinator, cfg core.Config) *core.Generator {
	tb.Helper()
	ctx := Within(tb)
	g, err := core.New(ctx, c, cfg)
	// A start tries for as long as the TTL, which is short for a machine that is slow.
	for err != nil && !coord.Permanent(err) && ctx.Err() == nil {
		g, err = core.New(ctx, c, cfg)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), CallTime)
		defer cancel()
		if err := g.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			tb.Logf("closing the generator: %v", err)
		}
	})
	return g
}

// Eventually waits until something is so.
func Eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	proctest.Eventually(tb, CallTime, what, so)
}

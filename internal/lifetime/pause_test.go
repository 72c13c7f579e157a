package lifetime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPause: the first time at once, then for some time and not for long, and never
// past the end of the context.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 100 {
			began := time.Now()
			if err := Pause(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); n == 0 && took != 0 || took > longestPause {
				t.Errorf("pause %d took %v", n, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		for Pause(ctx, 10) == nil {
			continue // a pause that is over before the context
		}
		for _, n := range []int{0, 10} {
			if err := Pause(ctx, n); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("pause %d after the end: %v", n, err)
			}
		}
	})
}

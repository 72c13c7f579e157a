package lifetime

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is the longest that a call waits before it looks again the second time;
	// the first time it does not.
	firstPause = 10 * time.Millisecond
	// longestPause is the longest of all.
	longestPause = 500 * time.Millisecond
)

// Pause waits before a call looks again for the n-th time, counted from 0, because
// others were faster: longer each time, and not as long as they do. It returns ctx's
// error if ctx has ended or ends.
func Pause(ctx context.Context, n int) error { return PauseBy(ctx, n, rand.Int64N) }

// PauseBy is [Pause] with another source of random numbers below a limit.
func PauseBy(ctx context.Context, n int, random func(limit int64) int64) error {
	if n <= 0 {
		return context.Cause(ctx)
	}
	if Sleep(ctx, time.Duration(random(int64(min(firstPause<<min(n, 10), longestPause))))) {
		return nil
	}
	return context.Cause(ctx)
}

// Sleep waits for d or until ctx ends. It reports whether d has passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

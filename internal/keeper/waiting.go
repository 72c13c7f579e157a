package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

const (
	// longestWait is the longest pause between two attempts to acquire a worker ID while every one
	// is held, or the namespace has another layout. Nothing but another process ends that.
	longestWait = 15 * time.Second
	// firstWait is about the first of these pauses.
	firstWait = time.Second
	// freedSpread is the range of the pause after a report that a worker ID was freed, so that those
	// who wait for it do not come together, and after the end of a lease.
	freedSpread = 500 * time.Millisecond
)

// waiting decides how long the keeper waits between two attempts to acquire a worker ID.
type waiting struct {
	brief backoff // while the coordinator cannot serve
	long  backoff // while every worker ID is held, or the layout differs
	// soonest is when the next worker ID can become usable by itself, as far as is known; monotonic.
	soonest time.Time
}

func newWaiting(every time.Duration) waiting {
	return waiting{
		brief: backoff{least: firstSpread, most: max(min(every, longestPause), shortestPause)},
		long:  backoff{least: firstWait, most: longestWait},
	}
}

// waits reports whether an acquisition failed for what only another process changes. The same token
// serves for the next attempt.
func waits(err error) bool {
	return errors.Is(err, coord.ErrNoWorkerID) || errors.Is(err, coord.ErrLayoutMismatch)
}

// after returns the pause after an attempt that failed with err at a time of the clock. While every
// worker ID is held, the next attempt is made when the next lease can end, or earlier.
func (w *waiting) after(err error, now time.Time) time.Duration {
	if !waits(err) {
		w.long.reset()
		return w.brief.spread()
	}
	pause := w.long.next()
	if full, ok := errors.AsType[*coord.NoWorkerIDError](err); ok && !full.Soonest.IsZero() {
		next := time.Now().Add(full.Soonest.Sub(now))
		if next.Before(w.soonest) || !time.Now().Before(w.soonest) { // the clock may have been set
			w.soonest = next
		}
	}
	if w.soonest.IsZero() {
		return pause
	}
	left := max(time.Until(w.soonest), freedSpread) // back ends end leases late
	return min(pause, left+rand.N(freedSpread))     //mutant:wait-past-a-lease
}

// reset begins again with the shortest pauses.
func (w *waiting) reset() {
	w.brief.reset()
	w.long.reset()
	w.soonest = time.Time{}
}

// rest waits for a pause after an attempt that failed with err, or until a worker ID may be free.
func (k *Keeper) rest(ctx context.Context, pause time.Duration, req coord.Request, err error) {
	ctx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	w, ok := k.cfg.Coordinator.(coord.Waiter)
	if ok && errors.Is(err, coord.ErrNoWorkerID) && w.AwaitFree(ctx, req) { //mutant:wait-for-word
		sleep(ctx, rand.N(freedSpread))
		return
	}
	<-ctx.Done()
}

// wallNow reads the clock as a time.
func (k *Keeper) wallNow() time.Time { return time.UnixMicro(clock.Fresh(k.cfg.Clock)) }

package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// deafCalls is how many calls may go on that were given up, and deafPause how much later the
	// next one is made for each one more: a coordinator of a user's own may ignore the end of a
	// context, and would be asked by ever more goroutines.
	deafCalls = 8
	deafPause = 10 * time.Second
)

// errAskingAgain says that nothing else is known yet of why there is no answer.
var errAskingAgain = fmt.Errorf("asking again: %w", context.DeadlineExceeded)

// answer is the result of one call of Ask.
type answer[T any] struct {
	value    T
	err      error
	took     time.Duration
	patient  bool // the call could take as long as the TTL
	timedOut bool // its own deadline has passed
}

// Ask makes a call to whom and returns its answer. The first call may take as long as the TTL;
// whenever the deadline d passes without an answer, another call is made beside it, in place of the
// one before, and late, if it is not nil, is told. So a coordinator that is slow answers the first
// call, and one that has lost it answers the next, at most one deadline later. The first success
// counts; an error ends the other call, whose success counts all the same. Ask blocks until there is
// an answer, or until ctx has ended and the calls have returned. It changes d.
func Ask[T any](ctx context.Context, d *Deadline, whom string, late func(error),
	call func(context.Context) (T, error),
) (none T, err error) {
	ctx, cut := context.WithCancel(ctx)
	answers, gone, first := make(chan answer[T]), make(chan struct{}), time.Now()
	defer close(gone)
	defer cut()
	next := time.NewTimer(0)
	defer next.Stop()
	drop, patient, underWay := func() {}, false, 0
	begin := func(patient bool) (drop context.CancelFunc) {
		began, limit := time.Now(), d.next() //mutant:dead-link
		// a moment later, so that the error of a call whose deadline has passed is known
		next.Reset(limit + shortestPause + time.Duration(max(underWay-deafCalls, 0))*deafPause)
		if patient {
			limit = d.ttl
		}
		own, drop := context.WithTimeout(ctx, limit)
		go func() {
			defer drop()
			v, err := call(own)
			a := answer[T]{v, err, time.Since(began), patient, own.Err() != nil && ctx.Err() == nil}
			select {
			case answers <- a:
			case <-gone:
			}
		}()
		return drop
	}
	for calls := 0; err == nil || underWay > 0; {
		select {
		case <-next.C:
			if ctx.Err() != nil {
				return none, cmp.Or(err, context.Cause(ctx)) // the calls ignore that
			}
			if calls == 1 && late != nil {
				late(fmt.Errorf("no reply from %s after %v, %w", whom,
					time.Since(first).Round(time.Millisecond), errAskingAgain))
			}
			if calls > 0 {
				d.missed()
			}
			drop()
			if one := begin(!patient); patient {
				drop = one
			}
			patient = true
			calls, underWay = calls+1, underWay+1
		case a := <-answers:
			underWay--
			patient = patient && !a.patient
			switch {
			case a.err == nil:
				d.met(a.took)
				return a.value, nil
			case err != nil: // which counts
			case !a.timedOut || ctx.Err() != nil:
				err = a.err
				cut()
				next.Reset(shortestCall)
			case late != nil && errors.Is(a.err, context.DeadlineExceeded):
				late(a.err) // which says more than that there was no reply
			}
		}
	}
	return none, err
}

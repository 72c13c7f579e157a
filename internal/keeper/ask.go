package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// answer is the result of one call of Ask.
type answer[T any] struct {
	value    T
	err      error
	took     time.Duration
	patient  bool // the call could take as long as the TTL
	timedOut bool // its own deadline has passed
}

// Ask makes a call and returns its answer, by the rule that renewals have: the first call may take
// as long as the TTL; whenever the deadline d passes without an answer, another call is made beside
// it, in place of the one before, and late, if it is not nil, is told. So a coordinator that is
// slow answers the first call, and one that has lost it answers the next, at most one deadline
// later. The first answer counts, and ends the other call. Ask blocks until there is one, or until
// ctx has ended and the calls have returned. It changes d.
func Ask[T any](ctx context.Context, d *Deadline, timedOut func(error),
	call func(context.Context) (T, error),
) (value T, err error) {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	answers := make(chan answer[T])
	next := time.NewTimer(0)
	defer next.Stop()
	begin := func(patient bool) (drop context.CancelFunc) {
		began, limit := time.Now(), max(d.wait-rand.N(d.wait/2+1), shortestCall)
		// a moment later, so that the error of a call whose deadline has passed is known
		next.Reset(limit + shortestPause)
		if patient {
			limit = d.ttl
		}
		own, drop := context.WithTimeout(ctx, limit)
		go func() {
			defer drop()
			v, err := call(own)
			answers <- answer[T]{v, err, time.Since(began), patient, own.Err() != nil && ctx.Err() == nil}
		}()
		return drop
	}
	drop, patient, underWay, calls, answered := func() {}, false, 0, 0, false
	for !answered || underWay > 0 {
		select {
		case <-next.C:
			if answered {
				continue
			}
			if calls > 0 {
				if timedOut != nil {
					timedOut(fmt.Errorf("no reply after %v, asking again: %w", d.wait, context.DeadlineExceeded))
				}
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
			case a.err == nil: // also if another one was answered before: both have the same outcome
				d.met(a.took)
				value, err, answered = a.value, nil, true
			case !answered && (!a.timedOut || ctx.Err() != nil):
				err, answered = a.err, true
			case !answered && timedOut != nil && errors.Is(a.err, context.DeadlineExceeded):
				timedOut(a.err) // which says more than that there was no reply
			}
			if answered {
				cut()
			}
		}
	}
	return value, err
}

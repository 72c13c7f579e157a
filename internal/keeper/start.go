package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// grace is how much longer than a lease a start goes on: back ends end leases late.
const grace = 5 * time.Second

// Begin starts the loop at once, which acquires a worker ID and keeps it. It goes on
// trying until there is one or the keeper is stopped, whatever the error is: what is
// wrong may be corrected meanwhile. The gate is told why there is none.
func (k *Keeper) Begin() {
	k.done = make(chan struct{})
	go k.loop()
}

// Start acquires a worker ID, publishes it, and starts the loop that keeps it. It
// blocks until the worker ID is acquired, ctx ends, or it is clear that trying
// again cannot help.
//
// Waiting helps in these cases, and the log says so. Transient errors are tried again
// for the start timeout. A quarantine is waited out, however long it takes: the back end
// has said when it ends. If every worker ID is held, Start asks again for the start timeout, less
// and less often, because a holder may release its own, or be dead.
// A clock that differs from those of holders who may be dead is tried again until their leases have
// ended. Where no start timeout is set, leases that end later are waited for as well.
//
// After an error the keeper cannot be used.
func (k *Keeper) Start(ctx context.Context) (err error) {
	began := time.Now()
	defer func() {
		if err != nil {
			err = errors.Join(err, k.closeFile())
		}
	}()
	k.without = began
	k.bound, _ = ctx.Deadline()
	s := start{k: k}
	s.extend()
	for {
		if k.ctx.Err() != nil {
			return errStopped
		}
		err := k.acquire(ctx)
		if err == nil {
			k.Begin()
			return nil
		}
		if errors.Is(err, errStopped) {
			return err
		}
		pause, goesOn := s.after(err)
		if goesOn && ctx.Err() == nil && !errors.Is(err, coord.ErrNoWorkerID) {
			k.notAcquired(err)
		}
		switch {
		case goesOn || ctx.Err() != nil:
		case coord.Permanent(err) && !s.waited:
			return err
		default:
			return fmt.Errorf("no worker ID after %v of trying: %w", time.Since(began).Round(time.Second),
				s.why(err))
		}
		k.rest(ctx, pause, k.request(k.now(), k.cfg.Request.Identity), err)
		if ctx.Err() != nil {
			return fmt.Errorf("no worker ID, %w: %w", context.Cause(ctx), s.why(err))
		}
	}
}

// start decides after each failed attempt whether a start goes on. Its times are
// readings of the machine's monotonic clock, because a clock that is wrong may be set
// meanwhile.
type start struct {
	k      *Keeper
	giveUp time.Time // when transient errors are not tried again
	// How long a free worker ID and the end of a clock skew are waited for; zero: neither
	// was lacking yet.
	held, skewed time.Time
	waited       bool                   // for a free worker ID
	full         *coord.NoWorkerIDError // what was said last of that
	said         error                  // what went wrong last, other than that time was up
}

// why is what a start has failed for that ends with err. That time is up now does not hide
// what was wrong before, and nothing hides that every worker ID was held.
func (s *start) why(err error) error {
	switch {
	case errors.Is(err, coord.ErrNoWorkerID):
		return err
	case s.full != nil: //mutant:held-said
		return fmt.Errorf("%w; later: %w", s.full, err)
	case s.said != nil && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w; later: %w", s.said, err)
	}
	return err
}

// extend lets the start go on for the start timeout from now on.
func (s *start) extend() {
	limit := s.k.cfg.StartTimeout
	switch {
	case limit == 0:
		limit = s.k.cfg.Lease.TTL
		limit += min(grace, math.MaxInt64-limit)
	case limit < 0:
		limit = math.MaxInt64
	}
	s.giveUp = time.Now().Add(limit)
	s.k.giveUp = s.giveUp
}

// until returns how long to wait for leases that end at the given time: the start
// timeout, or until then and a grace where none is set.
func (s *start) until(end time.Time) time.Time {
	if s.k.cfg.StartTimeout != 0 {
		return s.giveUp
	}
	return s.timer(end.Add(grace))
}

// after tells how long to pause after the given error, and whether to go on at all.
func (s *start) after(err error) (pause time.Duration, goesOn bool) {
	if !errors.Is(err, context.DeadlineExceeded) {
		s.said = err
	}
	full, isFull := errors.AsType[*coord.NoWorkerIDError](err)
	skew, isSkew := errors.AsType[*coord.ClockSkewError](err)
	pause = s.k.waiting.after(err, s.k.wallNow())
	switch {
	case isFull:
		s.full = full
		goesOn = s.mayEnd(full) //mutant:held-waited-for
		return min(pause, max(time.Until(s.held), 0)), goesOn
	case coord.Permanent(err):
		return 0, false
	case isSkew:
		if s.skewed.IsZero() {
			s.skewed = s.until(skew.Until)
			s.k.giveUp = s.skewed
		}
		goesOn = time.Now().Before(s.skewed) //mutant:start-clock
	case errors.Is(err, coord.ErrQuarantined):
		s.extend()
		goesOn = true
	default:
		left := time.Until(later(s.giveUp, s.held))
		return min(pause, max(left, 0)), left > 0
	}
	return pause, goesOn
}

// mayEnd reports whether to go on where every worker ID is held. Nobody can tell a
// holder that is about to stop from one that is not, so all are waited for alike, unless
// the coordinator knows of no lease that ever ends.
func (s *start) mayEnd(full *coord.NoWorkerIDError) bool {
	if s.held.IsZero() { //mutant:look-without-an-end
		if full.Soonest.IsZero() {
			return false
		}
		s.waited = true
		s.held = later(s.giveUp, s.until(full.Soonest))
		s.k.giveUp = s.held
		s.k.told = true
		s.k.log.Warn("every worker ID is held, waiting for one to become free",
			"error", full, "lease_ends", full.Soonest.UTC(), s.k.lasting())
	}
	return time.Now().Before(s.held)
}

// timer returns the reading of the machine's monotonic clock that a time lies ahead.
func (s *start) timer(t time.Time) time.Time { return time.Now().Add(t.Sub(s.k.wallNow())) }

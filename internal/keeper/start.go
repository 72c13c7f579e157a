package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

const (
	// grace is how much longer than a lease a start goes on: back ends end leases late.
	grace = 5 * time.Second
	// lookPause is the pause between two looks at who holds the worker IDs, and about
	// as much as clocks may differ.
	lookPause = time.Second
)

// Start acquires a worker ID, publishes it, and starts the loop that keeps it. It
// blocks until the worker ID is acquired, ctx ends, or it is clear that trying
// again cannot help.
//
// Waiting helps in these cases, and the log says so. Transient errors are tried again
// for as long as a lease and 5 s. A quarantine is waited out, however long it takes:
// the back end has said when it ends. If every worker ID is held, and one of the holders
// is late with its renewal, Start looks again after a second: if it renews it is alive,
// and the start is refused; if not it may be dead, and the end of its lease is waited
// for. A clock that differs
// from those of holders who may be dead is tried again until their leases have ended.
//
// After an error the keeper cannot be used.
func (k *Keeper) Start(ctx context.Context) error {
	began := time.Now()
	s := start{k: k, giveUp: began.Add(k.cfg.Lease.TTL + grace)}
	s.retry = backoff{least: firstSpread, most: max(min(k.cfg.Lease.RenewEvery, longestPause), shortestPause)}
	for {
		if k.ctx.Err() != nil {
			return errStopped
		}
		err := k.acquire(ctx)
		if err == nil {
			k.done = make(chan struct{})
			go k.loop()
			return nil
		}
		if errors.Is(err, errStopped) {
			return err
		}
		pause, goesOn := s.after(err)
		switch {
		case goesOn || ctx.Err() != nil:
		case coord.Permanent(err):
			return err
		default:
			return fmt.Errorf("no worker ID after %v of trying: %w", time.Since(began).Round(time.Second), err)
		}
		sleep(ctx, pause)
		if ctx.Err() != nil {
			return fmt.Errorf("no worker ID, %w: %w", context.Cause(ctx), err)
		}
	}
}

// start decides after each failed attempt whether a start goes on.
type start struct {
	k      *Keeper
	retry  backoff
	giveUp time.Time // when transient errors are not tried again

	soonest time.Time // when the lease of a holder ends, as last seen; zero: not seen
	until   time.Time // how long leases are waited for
	told    bool      // the log says so
	// The same and how long a clock skew is waited for, by the machine's monotonic clock,
	// because a clock that is wrong may be set meanwhile; zero: none was seen.
	held, skewed time.Time
}

// after tells how long to pause after the given error, and whether to go on at all.
func (s *start) after(err error) (pause time.Duration, goesOn bool) {
	full, isFull := errors.AsType[*coord.NoWorkerIDError](err)
	skew, isSkew := errors.AsType[*coord.ClockSkewError](err)
	switch {
	case isFull:
		return lookPause + rand.N(lookPause/4), s.mayEnd(full)
	case coord.Permanent(err):
		return 0, false
	case isSkew:
		if s.skewed.IsZero() {
			s.skewed = s.timer(skew.Until.Add(grace))
		}
		goesOn = time.Now().Before(s.skewed)
	case errors.Is(err, coord.ErrQuarantined):
		s.giveUp, goesOn = time.Now().Add(s.k.cfg.Lease.TTL+grace), true
	default:
		left := time.Until(s.giveUp)
		s.k.notAcquired(err)
		return min(s.retry.spread()+s.k.apart(), max(left, 0)), left > 0
	}
	s.k.notAcquired(err)
	return s.retry.spread(), goesOn
}

// mayEnd reports whether waiting may help where every worker ID is held: the lease
// that ends first was not renewed since the last look, so that its holder may be dead.
//
// Another lease that ends first is no sign of life if the one before has ended: then
// somebody else was faster, and the next one may be a dead holder's as well. Nor is a look
// that has learned nothing of any lease.
func (s *start) mayEnd(full *coord.NoWorkerIDError) bool {
	now := s.now()
	switch {
	case full.Soonest.IsZero():
		return !s.soonest.IsZero() && time.Now().Before(s.held)
	case !full.LastSeen.IsZero() && !s.late(full, now):
		return false // nobody is late with a renewal
	case s.soonest.IsZero():
		s.until = now.Add(s.k.cfg.Lease.TTL)
		if full.Soonest.After(s.until) {
			s.until = full.Soonest
		}
		s.until = s.until.Add(grace)
		s.held = s.timer(s.until)
	case !full.Soonest.Equal(s.soonest) && now.Before(s.soonest.Add(-lookPause)):
		return false
	case !s.told:
		s.told = true
		s.k.log.Warn("every worker ID is held, waiting for a lease to end: the holder whose lease ends first may be dead",
			"error", full, "lease_ends", full.Soonest.UTC(), "waiting_until", s.until.UTC())
	}
	s.soonest = full.Soonest
	return time.Now().Before(s.held)
}

// late reports whether the holder whose lease ends first is late with its renewal, if it
// renews as often in the time of its lease as this one does, and not less often.
func (s *start) late(full *coord.NoWorkerIDError, now time.Time) bool {
	own := s.k.cfg.Lease
	shorter := min(float64(full.Soonest.Sub(full.LastSeen))/float64(own.TTL), 1)
	return now.Sub(full.LastSeen) >= time.Duration(shorter*float64(own.RenewEvery))
}

// timer returns the reading of the machine's monotonic clock that a time lies ahead.
func (s *start) timer(t time.Time) time.Time { return time.Now().Add(t.Sub(s.now())) }

// now reads the clock as a time.
func (s *start) now() time.Time { return time.UnixMicro(clock.Fresh(s.k.cfg.Clock)) }

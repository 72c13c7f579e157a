package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// renewal is a renewal that is under way: a run of [Ask], with one call or several.
type renewal struct {
	began time.Time
	cut   context.CancelFunc // ends it; what it says is dropped
}

// reply is what a renewal says: how it has ended, or why there is no answer yet.
type reply struct {
	of      *renewal
	late    bool        // there is no answer yet
	old     coord.Grant // the grant that was to be renewed
	g       coord.Grant
	err     error
	until   int64     // the end of the window that was asked for
	began   time.Time // when that was
	replies Deadline  // of the next renewal
}

// failed returns why a renewal has failed.
func (a *reply) failed(lastTick int64) error {
	if a.err != nil {
		return a.err
	}
	return checkRenewal(a.old, a.g, lastTick)
}

// renew begins a renewal and returns at once; what becomes of it goes to the loop.
func (k *Keeper) renew() {
	ctx, cut := context.WithCancel(k.hurry)
	r, g, d := &renewal{time.Now(), cut}, k.grant, k.replies
	d.left = func() time.Duration { return k.left(g) }
	k.renewal, k.renewAt = r, r.began.Add(math.MaxInt64) // until it has ended
	tell := func(a reply) {
		a.of, a.old, a.replies = r, g, d
		select {
		case k.answers <- a:
		case <-ctx.Done():
		}
	}
	late := func(err error) { tell(reply{late: true, err: err}) }
	k.background.Go(func() {
		defer cut()
		a, err := Ask(ctx, &d, k.whom, late, func(ctx context.Context) (a reply, err error) {
			a.began, a.until = time.Now(), k.until(k.now())
			a.g, err = k.cfg.Coordinator.Renew(ctx, g, a.until)
			k.report(coord.CallRenew, g.WorkerID, time.Since(a.began), err)
			return a, err
		})
		a.err = err
		tell(a)
	})
}

// dropRenewal ends a renewal that is under way.
func (k *Keeper) dropRenewal() {
	if k.renewal != nil {
		k.renewal.cut()
		k.renewal = nil
	}
}

// answered acts on what a renewal says.
func (k *Keeper) answered(a reply) {
	switch {
	case a.of != k.renewal:
		return // it was ended
	case a.late && k.outage.cause != nil && errors.Is(a.err, errAskingAgain):
		return // what was said before tells more
	case a.late:
		k.failed(a.err)
		return
	}
	k.renewal, k.replies = nil, a.replies
	switch err := a.failed(k.cfg.Request.LastTick); {
	case err == nil:
		k.retries.reset()
		k.extended(a.g)
		k.renewAt = a.began.Add(jitter(k.cfg.Lease.RenewEvery))
		k.explainRenewed(a.until)
		k.watch()
	case errors.Is(err, coord.ErrLeaseLost): //mutant:unknown-lost
		k.lose(err)
	default:
		k.failed(err)
		// A renewal that took longer than the pause was pause enough.
		k.renewAt = later(a.of.began.Add(k.pauseAfter(err)), time.Now().Add(shortestPause))
	}
}

// explainRenewed says what a renewal that succeeded, and asked for a tick, means for the window.
func (k *Keeper) explainRenewed(until int64) {
	k.cfg.Gate.Explain(nil)
	why, now := ErrBehind, k.now()
	if until < now { //mutant:late-reply
		why = ErrLate
	}
	switch {
	case k.ended(now):
		k.notRenewed(why)
		k.cfg.Gate.Explain(why)
	case k.outage.settled() && !k.outage.silent:
		k.log.Warn("renewed again", "worker_id", k.grant.WorkerID)
	}
}

// pauseAfter returns the pause after a renewal that failed with err.
// In a quarantine it is the renewal interval, until the floor is within the reach of a
// renewal: nobody but an operator shortens a quarantine, and it may last for hours.
func (k *Keeper) pauseAfter(err error) time.Duration {
	pause, every := k.retries.next(), k.cfg.Lease.RenewEvery
	q, ok := errors.AsType[*coord.QuarantinedError](err)
	if !ok {
		return pause
	}
	reached := q.Until.Add(-k.cfg.Lease.Horizon).Sub(k.timeOf(k.now()))
	return max(pause, min(jitter(every), min(reached, every)+pause))
}

// failed says why the window does not grow.
func (k *Keeper) failed(err error) {
	k.notRenewed(err)
	k.cfg.Gate.Explain(fmt.Errorf("renewal failed: %w", err))
}

// left is how much is left of the window of a grant, not more than an hour: nobody waits longer.
func (k *Keeper) left(g coord.Grant) time.Duration {
	end := k.cfg.Request.Scale.Micro(g.NotAfter + 1)
	left := min(end-clock.Fresh(k.cfg.Clock), time.Hour.Microseconds())
	return time.Duration(max(left, 0)) * time.Microsecond
}

// lose forgets the grant, which is somebody else's now. The gate is shut first.
func (k *Keeper) lose(err error) {
	last := k.cfg.Gate.Shut(err) //mutant:gate-after-loss
	k.log.Warn("lease lost, acquiring a worker ID anew", "worker_id", k.grant.WorkerID, "last_id",
		k.timeOf(last), "error", err)
	k.dropRenewal()
	k.leased.Store(false)
	k.held, k.pieces, k.lost = false, nil, nil
	k.without = time.Now()
	k.retries.reset()
	k.outage.settled()
	k.outage.stops(k.now())
}

// watch asks for early word of a lost lease, where the coordinator can give it.
func (k *Keeper) watch() {
	if n, ok := k.cfg.Coordinator.(coord.Notifier); ok && k.lost == nil {
		k.lost = n.Lost(k.grant)
	}
}

// checkRenewal holds a driver to what Renew promises, so that a mistake in a
// driver cannot become a duplicate.
func checkRenewal(old, g coord.Grant, lastTick int64) error {
	switch {
	case g.WorkerID != old.WorkerID || g.Generation != old.Generation || g.Token != old.Token:
		return fmt.Errorf("%w renewal: the driver returned the grant of %v for that of %v",
			coord.ErrInvalid, g, old)
	case g.NotBefore != old.NotBefore && g.NotBefore < old.NotAfter: //mutant:renewal-inside
		return fmt.Errorf("%w renewal: the driver returned %v, which begins inside %v", coord.ErrInvalid,
			g, old)
	//mutant:renewal-shrinks
	case g.NotAfter < g.NotBefore || g.NotAfter < old.NotAfter || g.NotAfter > lastTick:
		return fmt.Errorf("%w renewal: the driver returned %v for %v; the last tick is %d",
			coord.ErrInvalid, g, old, lastTick)
	}
	return nil
}

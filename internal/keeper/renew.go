package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/remainder"
)

// renewal is a call of Renew that is under way.
type renewal struct {
	began   time.Time
	until   int64              // the end of the window that it asks for
	patient bool               // it may take as long as the TTL
	resumes bool               // it is a Resume
	cut     context.CancelFunc // ends it; its reply is dropped
}

// reply is the result of a renewal.
type reply struct {
	of       *renewal
	old      coord.Grant // the grant that was to be renewed, or that a Resume was to make
	g        coord.Grant
	err      error
	took     time.Duration
	timedOut bool // its deadline has passed
}

const (
	// deafCalls is how many calls may go on that were given up, and deafPause how much later the
	// next one is made for each one more: a coordinator of a user's own may ignore the end of a
	// context, and would be asked by ever more goroutines.
	deafCalls = 8
	deafPause = 10 * time.Second
)

// renew begins a renewal and returns at once; the reply goes to the loop.
//
// The first call may take as long as the TTL. If its deadline passes without a reply,
// it is left alone and another one is made beside it, on which a shorter deadline
// lies: a coordinator that is slow answers the first, and one that has lost the first
// answers the second. So at most two are under way, and whichever succeeds first
// counts.
func (k *Keeper) renew() {
	// Many holders may have waited for the same coordinator.
	wait := max(jitter(k.replies.within(k.left())), k.replies.base) //mutant:dead-link
	r := &renewal{began: time.Now(), until: k.until(k.now()), patient: true}
	for _, c := range slices.Clone(k.calls) {
		if c.patient {
			r.patient, r.until = false, k.again(c.until, r.until)
		} else {
			k.drop(c)
		}
	}
	limit := wait
	if r.patient {
		limit = k.replies.ttl
	}
	own, cut := context.WithCancel(k.hurry)
	ctx, cancel := context.WithTimeout(own, limit)
	r.cut = cut
	// A moment later, so that the error of a call whose deadline has passed is known.
	k.calls, k.unanswered, k.renewAt = append(k.calls, r), true, r.began.Add(wait+shortestPause)
	deaf := int(k.renewing.Add(1)) - len(k.calls)
	k.renewAt = k.renewAt.Add(time.Duration(max(deaf-deafCalls, 0)) * deafPause)
	g, call, old, op := k.grant, k.cfg.Coordinator.Renew, k.grant, "renew"
	if k.file != nil && k.file.offline {
		r.resumes, call, old, op = true, k.resume(), resumed(g, k.file.sent), "resume"
	}
	k.background.Go(func() {
		defer cut()
		defer cancel()
		next, err := call(ctx, g, r.until)
		k.renewing.Add(-1)
		timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded)
		took := time.Since(r.began)
		// after the answer, so that a listener delays nothing
		defer k.report(op, g.WorkerID, took, err)
		select {
		case k.answers <- reply{
			of: r, old: old, g: next, err: err, took: time.Since(r.began),
			timedOut: timedOut,
		}:
		case <-own.Done():
		}
	})
}

// again returns what to ask for beside a call that asks for the tick first: the same,
// so that a coordinator which is merely slow has nothing more to store, unless too much
// of that has passed. A call made now would ask for the tick now.
func (k *Keeper) again(first, now int64) int64 {
	if now-first > k.cfg.Horizon/2 {
		return now
	}
	return min(first, now)
}

// renewNext is what the loop does when it is time for another renewal: because the
// interval or a pause is over, or because the last one was not answered in time.
func (k *Keeper) renewNext() {
	if k.unanswered {
		if k.outage.cause == nil && len(k.calls) > 0 {
			silence := time.Since(k.calls[len(k.calls)-1].began).Round(time.Millisecond)
			k.failed(fmt.Errorf("no reply from %s after %v, asking again: %w", k.whom(), silence,
				context.DeadlineExceeded))
		}
		k.replies.missed()
	}
	k.renew()
}

// whom names the coordinator.
func (k *Keeper) whom() string {
	return cmp.Or(coord.Describe(k.cfg.Coordinator).Place, "the coordinator")
}

// drop ends a renewal and reports whether it was under way still.
func (k *Keeper) drop(r *renewal) bool {
	i := slices.Index(k.calls, r)
	if i < 0 {
		return false
	}
	r.cut()
	k.calls = slices.Delete(k.calls, i, i+1)
	return true
}

// dropAll ends all renewals that are under way.
func (k *Keeper) dropAll() {
	for len(k.calls) > 0 {
		k.drop(k.calls[0])
	}
	k.unanswered = false
}

// answered acts on the reply to a renewal.
func (k *Keeper) answered(a reply) {
	if !k.drop(a.of) {
		return // another one was answered before it
	}
	err := a.err
	if err == nil {
		err = checkRenewal(a.old, a.g, k.cfg.Request.LastTick)
	}
	switch {
	case err == nil:
		k.dropAll()
		k.replies.met(a.took)
		k.retries.reset()
		k.extended(a.g)
		if a.of.resumes {
			k.tookOver()
		}
		k.renewAt = a.of.began.Add(jitter(k.cfg.Lease.RenewEvery))
		k.explainRenewed(a.of)
		k.watch()
	case errors.Is(err, coord.ErrLeaseLost): //mutant:unknown-lost
		k.lose(err)
	case a.timedOut:
		k.failed(err) // when to ask again is settled: a deadline has passed
	default:
		k.unanswered = false
		k.failed(err)
		// A call that took longer than the pause was pause enough.
		k.renewAt = later(a.of.began.Add(k.pauseAfter(err)), time.Now().Add(shortestPause))
	}
}

// explainRenewed says what a renewal that succeeded means for the window.
func (k *Keeper) explainRenewed(r *renewal) {
	k.explain(nil)
	why, now := ErrBehind, k.now()
	if r.until < now { //mutant:late-reply
		why = ErrLate
	}
	switch {
	case k.ended(now):
		k.notRenewed(why)
		k.explain(why)
	case k.outage.settled() && !k.outage.silent:
		k.log.Warn("renewed again", "worker_id", k.grant.WorkerID)
	}
}

// pauseAfter returns the pause after a renewal that failed with err before its deadline.
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
	k.explain(fmt.Errorf("renewal failed: %w", err))
}

// left is how much is left of the window that the last renewal gave: until the end of
// the piece held back, if there is one. Not more than an hour: nobody waits longer.
func (k *Keeper) left() time.Duration {
	end := k.cfg.Request.Scale.Micro(k.grant.NotAfter + 1)
	left := min(end-clock.Fresh(k.cfg.Clock), time.Hour.Microseconds())
	return time.Duration(max(left, 0)) * time.Microsecond
}

// lose gives up the grant, so that another one is acquired. The gate is shut, unless the error
// says that the window in use stays the holder's: then it is used to its end meanwhile.
func (k *Keeper) lose(err error) {
	k.dropAll() //mutant:lost-extended
	k.leased.Store(false)
	k.lost, k.without = nil, time.Now()
	k.retries.reset()
	k.outage.settled()
	if f := k.file; f != nil {
		f.inherited, f.sent, f.offline = nil, "", false
		f.report.Store(nil)
		f.urgent()
	}
	lost := func(p coord.Grant) bool { // also the rest of an earlier grant that was lost
		return p.Token != k.grant.Token || !remainder.Usable(err, p.NotBefore, p.NotAfter)
	}
	worker := slog.Int("worker_id", k.grant.WorkerID)
	if lost(k.pieces[0]) { //mutant:lost-at-once
		last := k.cfg.Gate.Shut(err) //mutant:gate-after-loss
		k.log.Warn("lease lost, acquiring another worker ID", worker, "last_id", k.timeOf(last),
			"error", err)
		k.held, k.pieces = false, nil
		k.outage.stops(k.now())
		return
	}
	k.pieces = slices.DeleteFunc(k.pieces, lost) //mutant:lost-piece
	k.remains = true
	k.renewAt = k.without.Add(math.MaxInt64) // nothing is left to renew
	k.outage.fails(err)
	k.explain(err)
	k.log.Warn("lease lost, acquiring another worker ID; IDs are issued to the end of the window",
		worker, "window_ends", k.timeOf(k.pieces[len(k.pieces)-1].NotAfter+1), "error", err)
}

// watch asks for early word of a lost lease, where the coordinator can give it.
func (k *Keeper) watch() {
	if k.file != nil && k.file.offline {
		return // the coordinator does not know the grant's token yet
	}
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

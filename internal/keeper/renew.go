package keeper

import (
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// renew makes one renewal and acts on its result.
func (k *Keeper) renew() {
	began := time.Now()
	ctx, cancel := k.attempt(callTime(k.cfg.Lease.RenewEvery))
	g, err := k.cfg.Coordinator.Renew(ctx, k.grant, k.until(k.now()))
	cancel()
	if err == nil {
		err = checkRenewal(k.grant, g, k.cfg.Request.LastTick)
	}
	switch {
	case err == nil:
		k.extended(g)
		if k.ended(k.now()) {
			k.notRenewed(errBehind)
		} else if k.outage.settled() && !k.outage.silent {
			k.log.Info("renewed again", "worker_id", g.WorkerID)
		}
		k.cfg.Gate.Explain(nil)
		k.retries.reset()
		k.renewAt = began.Add(jitter(k.cfg.Lease.RenewEvery))
		k.watch()
	case errors.Is(err, coord.ErrLeaseLost):
		k.lose(err)
	default:
		k.notRenewed(err)
		k.cfg.Gate.Explain(fmt.Errorf("renewal failed: %w", err))
		// A call that hung for longer than the pause was pause enough.
		k.renewAt = later(began.Add(k.retries.next()), time.Now().Add(shortestPause))
	}
}

// lose forgets the grant, which is somebody else's now. The gate is shut first.
func (k *Keeper) lose(err error) {
	last := k.cfg.Gate.Shut(err)
	k.log.Warn("lease lost, acquiring a worker ID anew", "worker_id", k.grant.WorkerID, "last_tick", last, "error", err)
	k.held, k.pieces, k.lost = false, nil, nil
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
		return fmt.Errorf("%w renewal: the driver returned the grant of %v for that of %v", coord.ErrInvalid, g, old)
	case g.NotBefore != old.NotBefore && g.NotBefore < old.NotAfter:
		return fmt.Errorf("%w renewal: the driver returned %v, which begins inside %v", coord.ErrInvalid, g, old)
	case g.NotAfter < g.NotBefore || g.NotAfter < old.NotAfter || g.NotAfter > lastTick:
		return fmt.Errorf("%w renewal: the driver returned %v for %v; the last tick is %d", coord.ErrInvalid, g, old, lastTick)
	}
	return nil
}

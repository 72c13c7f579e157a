package keeper

import (
	"time"

	"github.com/unalike-id/unalike/coord"
)

// heal answers a large step of the clock backward: it leases another worker ID
// whose window lies behind the new time, moves the generator to it, and gives the
// old one back. If there is none, the old one stays: it serves again when the
// clock has caught up.
func (k *Keeper) heal() {
	ctx, cancel := k.attempt(acquireTime(k.cfg.Lease.TTL))
	asked := k.now()
	// The identity's own worker ID is the one that does not help.
	g, err := k.lease(ctx, asked, "")
	cancel()
	if err != nil {
		if k.heals.pause == 0 {
			k.log.Warn("the clock stepped back and no other worker ID is to be had, waiting for the clock", "worker_id", k.grant.WorkerID, "error", err)
		}
		k.healAt = time.Now().Add(k.heals.next())
		return
	}
	last, _ := k.cfg.Gate.Last()
	if !k.rolledBack() || g.NotBefore >= last {
		k.healAt = time.Now().Add(k.heals.next())
		k.logRelease(g, k.giveBack(g, g.NotBefore)) // nothing was stamped under it
		return
	}
	k.change(g, asked)
}

// change moves the generator from the grant it has to g.
func (k *Keeper) change(g coord.Grant, asked int64) {
	old := k.grant
	last, ok := k.cfg.Gate.Swap(Term{Grant: g, Heal: true})
	if !ok {
		k.result = k.giveBack(g, g.NotBefore)
		k.logRelease(g, k.result)
		return
	}
	k.adopt(g, asked)
	k.heals.reset()
	k.log.Info("the clock stepped back, going on with another worker ID", "old_worker_id", old.WorkerID, "worker_id", g.WorkerID)
	k.logRelease(old, k.giveBack(old, last))
}

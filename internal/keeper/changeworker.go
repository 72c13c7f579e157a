package keeper

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// changeWorker begins to lease another worker ID next to the one in use: one whose window is open
// at the new time after a large step of the clock backward, or any after a loss. The loop goes on
// meanwhile.
func (k *Keeper) changeWorker() {
	ctx, cancel := k.attempt(k.acquisitions.ttl)
	identity := "" // after a step back, the identity's own worker ID is the one that does not help
	if k.remains {
		identity = k.cfg.Request.Identity
	}
	req := k.request(k.now(), identity)
	k.healing = cancel
	k.background.Go(func() {
		defer cancel()
		k.healings <- k.ask(ctx, req, nil)
	})
}

// healWith moves the generator to the worker ID that changeWorker has leased, and gives the old
// one back. If there is none, the old one stays: it serves again when the clock has
// caught up.
func (k *Keeper) healWith(a acquired) {
	k.healing = nil
	g, err := k.conclude(a)
	switch {
	case k.remains && err != nil:
		k.notAcquired(err)
		k.cfg.Gate.Explain(fmt.Errorf("no worker ID: %w", err))
		k.healAt = time.Now().Add(k.retries.next())
	case k.remains:
		k.follow(g)
	case err != nil:
		if k.heals.pause == 0 {
			k.log.Warn("the clock stepped back and no other worker ID is to be had, waiting for the clock",
				"worker_id", k.grant.WorkerID, "error", err)
		}
		k.healAt = time.Now().Add(k.heals.next())
	case !k.farBehind(): //mutant:caught-up-meanwhile
		k.healAt = time.Now().Add(k.heals.next())
		k.tidy(g, g.NotBefore, false) // nothing was stamped under it
	case g.NotBefore-k.now() > k.cfg.Limit: //mutant:heal-opens-later
		k.postpone(g)
	default:
		k.change(g, a.req.Now)
	}
}

// healInVain ends an attempt to heal that is under way: there is nothing to heal any
// more. Its token is kept if its outcome is unknown, so that the next acquisition finds
// what it got.
func (k *Keeper) healInVain() {
	if k.healing == nil {
		return
	}
	k.healing()
	k.healing = nil
	if g, err := k.conclude(<-k.healings); err == nil {
		k.tidy(g, g.NotBefore, false)
	}
}

// postpone gives back a worker ID whose window opens in the future, which helps no
// more than the one that is held. Who is asked for another one soon may grant the
// same one, so the pauses grow, but not past the time at which it would help.
func (k *Keeper) postpone(g coord.Grant) {
	opens := k.timeOf(g.NotBefore - k.cfg.Limit)
	first := k.unopened.pause == 0
	if first {
		k.log.Warn("the clock stepped back and the window of the other worker ID that is to be had "+
			"opens later, looking for a better one",
			"worker_id", k.grant.WorkerID, "other_worker_id", g.WorkerID, "opens", k.timeOf(g.NotBefore+1))
	}
	k.healAt = earlier(time.Now().Add(k.unopened.next()), time.Now().Add(opens.Sub(k.timeOf(k.now()))))
	k.tidy(g, g.NotBefore, !first) // nothing was stamped under it
}

// follow keeps g from now on. Its window comes into use when that of the lost grant has ended.
func (k *Keeper) follow(g coord.Grant) {
	k.keep(g)
	k.pieces = append(k.pieces, g)
	k.log.Info("worker ID acquired, its window follows the one in use", "worker_id", g.WorkerID,
		"generation", g.Generation, "window_opens", k.timeOf(g.NotBefore+1), "window_ends",
		k.timeOf(g.NotAfter+1))
}

// change moves the generator from the grant it has to g.
func (k *Keeper) change(g coord.Grant, asked int64) {
	old := k.grant
	last, ok := k.cfg.Gate.Swap(Term{Grant: g, SteppedBack: true})
	if !ok {
		k.result = k.giveBack(g, g.NotBefore, k.replies)
		k.logRelease(g, k.result)
		return
	}
	k.adopt(g, asked)
	k.healed()
	k.log.Info("the clock stepped back, going on with another worker ID", "old_worker_id",
		old.WorkerID, "worker_id", g.WorkerID)
	k.tidy(old, last, false)
}

// healed notes that the clock is no longer behind the term in use.
func (k *Keeper) healed() {
	k.heals.reset()
	k.unopened.reset()
}

package keeper

import (
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// finish gives the worker ID back at the end of the loop.
func (k *Keeper) finish() {
	if !k.held {
		return
	}
	// The gate is shut already; this only asks how far it got. Whatever the loop
	// was doing, the window is trimmed to what a closed gate has returned.
	last := k.cfg.Gate.Shut(errStopped)
	k.held = false
	k.result = k.giveBack(k.grant, last)
	k.logRelease(k.grant, k.result)
}

// giveBack releases a grant under which nothing above tick last was stamped or
// ever will be. A lost reply is no reason to leave a worker ID leased, so it is
// tried again for a while.
func (k *Keeper) giveBack(g coord.Grant, last int64) error {
	ctx, cancel := k.attempt(2 * longestCall)
	defer cancel()
	retry := newBackoff(k.cfg.Lease.RenewEvery)
	for {
		err := k.cfg.Coordinator.Release(ctx, g, last)
		switch {
		case err == nil, errors.Is(err, coord.ErrLeaseLost):
			return nil // given back, now or earlier, or somebody else's already
		case coord.Permanent(err) || !sleep(ctx, retry.next()):
			return fmt.Errorf("worker ID %d not released, it becomes free when its lease ends: %w", g.WorkerID, err)
		}
	}
}

func (k *Keeper) logRelease(g coord.Grant, err error) {
	if err != nil {
		k.log.Warn("worker ID not released", "worker_id", g.WorkerID, "error", err)
		return
	}
	k.log.Info("worker ID released", "worker_id", g.WorkerID)
}

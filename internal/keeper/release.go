package keeper

import (
	"context"
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
	err := k.giveBack(k.grant, last)
	k.logRelease(k.grant, err)
	k.result = errors.Join(k.result, err)
}

// giveBack releases a grant under which nothing above tick last was stamped or
// ever will be. A lost reply is no reason to leave a worker ID leased, so it is
// tried again for a while.
func (k *Keeper) giveBack(g coord.Grant, last int64) error {
	limit := callTime(k.cfg.Lease.RenewEvery)
	ctx, cancel := k.attempt(3 * limit)
	defer cancel()
	retry := newBackoff(k.cfg.Lease.RenewEvery)
	for {
		call, done := context.WithTimeout(ctx, limit)
		err := k.cfg.Coordinator.Release(call, g, last)
		done()
		switch {
		case err == nil, errors.Is(err, coord.ErrLeaseLost):
			return nil // given back, now or earlier, or somebody else's already
		case coord.Permanent(err) || !sleep(ctx, retry.next()):
			if k.hurry.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(k.hurry), err)
			}
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

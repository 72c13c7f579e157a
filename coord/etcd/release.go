package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
)

// release gives a worker ID back, by rule 9. A transaction whose reply was lost is
// looked into, and made once more if it was not done.
func (c *Coordinator) release(ctx context.Context, g coord.Grant, last int64) error {
	known := viewOf(g)
	v := c.fresh(known)
	var attempt error // of an attempt that may have been done
	for range turns {
		if v == nil {
			var err error
			if v, err = c.look(ctx, g.WorkerID); err != nil {
				if attempt != nil {
					err = unclear(attempt, err)
				}
				return err
			}
			if attempt != nil && v.slot.Token == "" && v.slot.Generation == g.Generation && !v.slot.Retired {
				return nil // nobody but this holder can have done that
			}
		}
		if why := c.contradicts(known, v); why != "" {
			// A slot that was reverted no longer says how far its holder has come.
			c.memory.suspect(v.era, why, known)
		}
		if err := c.heal(ctx, 0); err != nil {
			return err
		}
		if !v.holds(g.Token, g.Generation) {
			return v.slot.Lost(g)
		}
		resp, err := c.tryRelease(ctx, g, v, last)
		switch {
		case err != nil && attempt != nil:
			return err
		case err != nil:
			attempt, v = err, nil
		case resp.Succeeded:
			c.revoke(ctx, v.lease)
			return c.heal(ctx, 0)
		case resp.again:
			// It may have been done the first time.
			attempt, v = errRepeated, nil
		default:
			if v, err = c.viewFrom(g.WorkerID, resp); err != nil {
				return err
			}
		}
	}
	return errBusy
}

// errRepeated says that a transaction was sent more than once.
var errRepeated = errors.New("the transaction was sent more than once")

// tryRelease makes the transaction of a release.
func (c *Coordinator) tryRelease(ctx context.Context, g coord.Grant, v *view, last int64) (*reply, error) {
	then, err := c.slotWrites(v.slot.Trimmed(last))
	if err != nil {
		return nil, err
	}
	then = append(then, clientv3.OpDelete(c.keys.owner(g.WorkerID)), clientv3.OpDelete(c.keys.token(g.Token)))
	compare, err := c.unchanged(g.WorkerID, v)
	if err != nil {
		return nil, err
	}
	return c.propose(ctx, compare, then, c.gets(g.WorkerID))
}

// revoke ends a lease that carries nothing any more. If that fails, it ends by
// itself.
func (c *Coordinator) revoke(ctx context.Context, lease clientv3.LeaseID) {
	if lease == 0 || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	_, _ = c.client.Revoke(ctx, lease)
}

package zk

import (
	"context"
	"errors"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

// release gives a worker ID back, by rule 9, and ends the session of the grant. A
// transaction whose reply was lost is looked into, and made once more if it was not
// done.
func (c *Coordinator) release(ctx context.Context, g coord.Grant, last int64) error {
	inc, err := c.enter(ctx, g.Token)
	if err != nil {
		return err
	}
	defer c.leave(inc)
	r := &renewal{Coordinator: c, g: g, inc: inc, known: viewOf(g)}
	r.v = r.known
	if held := inc.view; held != nil && r.v != nil && held.slot.rec.Holds(g.Token, g.Generation) && held.slot.version > r.v.slot.version {
		r.v = held
	}
	err = r.giveBack(ctx, last)
	switch {
	case err == nil:
		c.drop(inc)
	case errors.Is(err, coord.ErrLeaseLost):
		c.lose(inc, g)
	default:
		c.spare(inc)
	}
	return err
}

// giveBack makes the transaction of a release, several times if need be.
func (r *renewal) giveBack(ctx context.Context, last int64) error {
	var attempt error // of an attempt that may have been done
	for range turns {
		ttl := r.ttl()
		if r.v != nil {
			ttl = r.v.slot.rec.Lease()
		}
		if _, err := r.connected(ctx, r.inc, ttl, 0); err != nil {
			if r.inc.session != nil && r.inc.session.life.Err() != nil && transientEnd(r.inc.session) && ctx.Err() == nil {
				continue
			}
			return err
		}
		s := r.inc.session
		if r.v == nil {
			var err error
			if r.v, err = r.look(ctx, s, r.g.WorkerID); err != nil {
				if attempt != nil {
					err = unclear(attempt, err)
				}
				return err
			}
			if rec := r.v.slot.rec; attempt != nil && rec.Token == "" && rec.Generation == r.g.Generation && !rec.Retired {
				return nil // nobody but this holder can have done that
			}
		}
		if why := backward(r.known, r.v); why != "" {
			// A slot that was reverted no longer says how far its holder has come.
			r.memory.suspect(why)
			r.known = nil
		}
		if err := r.heal(ctx, s); err != nil {
			return err
		}
		if !r.v.slot.rec.Holds(r.g.Token, r.g.Generation) {
			return r.v.slot.rec.Lost(r.g)
		}
		failed, err := r.tryRelease(ctx, s, last)
		switch {
		case err == nil:
			return r.heal(ctx, s)
		case failed < 0 && attempt != nil:
			return err
		case failed < 0:
			attempt, r.v = err, nil
		case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
			r.v = nil
		default:
			return err
		}
	}
	return errBusy
}

// tryRelease makes the transaction of a release.
func (r *renewal) tryRelease(ctx context.Context, s *session, last int64) (failed int, err error) {
	rec := r.v.slot.rec.Trimmed(last)
	value, err := record.Encode(rec)
	if err != nil {
		return 0, err
	}
	ops := []any{unchanged(r.nodes.meta(), r.v.meta.raw)}
	if r.v.owned {
		ops = append(ops,
			&client.DeleteRequest{Path: r.nodes.owner(rec.Worker), Version: -1},
			&client.DeleteRequest{Path: r.nodes.token(r.g.Token), Version: -1})
	}
	ops = append(ops, r.replaces(r.nodes.slot(rec.Worker), r.v.slot.raw, []byte(value), r.v.slot.version)...)
	_, failed, err = r.Coordinator.write(ctx, s, ops)
	return failed, err
}

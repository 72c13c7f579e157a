package zk

import (
	"context"
	"errors"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

// turns is how often a renewal or release looks again after it found something
// changed. Only the holder changes its slot, so more than two are rare.
const turns = 5

// errBusy says that a call gave up because what it looked at kept changing.
var errBusy = errors.New("the slot kept changing; try again")

// renewal is one call of Renew.
type renewal struct {
	*Coordinator
	g       coord.Grant
	until   int64
	inc     *incarnation
	known   *view // that came with the grant; nil: none
	v       *view // what is stored, as far as is known; nil: look
	from    int64 // NotBefore of the result
	floored bool  // the window could not grow
}

func (c *Coordinator) renew(ctx context.Context, g coord.Grant, until int64) (_ coord.Grant, err error) {
	r := &renewal{Coordinator: c, g: g, until: until, known: viewOf(g)}
	r.v = r.known
	if r.inc, err = c.enter(ctx, g.Token); err != nil {
		return coord.Grant{}, err
	}
	defer c.leave(r.inc)
	if held := r.inc.view; held != nil && r.v != nil && held.slot.rec.Holds(g.Token, g.Generation) && held.slot.version > r.v.slot.version {
		r.v = held
	}
	for range turns {
		done, err := r.turn(ctx)
		switch {
		case errors.Is(err, coord.ErrLeaseLost):
			c.lose(r.inc, g)
			return coord.Grant{}, err
		case err != nil:
			c.spare(r.inc)
			return coord.Grant{}, err
		case done && r.floored:
			return coord.Grant{}, r.v.meta.rec.Quarantined(c.namespace)
		case done:
			out := r.v.grant()
			out.NotBefore = r.from
			return out, nil
		}
	}
	c.spare(r.inc)
	return coord.Grant{}, errBusy
}

// lose ends the session of a grant that is not held any more, unless it serves
// another grant of the same token.
func (c *Coordinator) lose(inc *incarnation, g coord.Grant) {
	if inc.view == nil || inc.view.slot.rec.Generation == g.Generation && inc.view.slot.rec.Worker == g.WorkerID {
		c.drop(inc)
	}
}

// spare ends a session that was made to look at what turned out not to be there.
func (c *Coordinator) spare(inc *incarnation) {
	if inc.view == nil {
		c.drop(inc)
	}
}

// turn makes one attempt. If it is not done and there is no error, the view is
// newer, or to be looked at.
func (r *renewal) turn(ctx context.Context) (done bool, err error) {
	ttl := r.ttl()
	if r.v != nil {
		ttl = r.v.slot.rec.Lease()
	}
	id, err := r.connected(ctx, r.inc, ttl, 0)
	if err != nil {
		if r.inc.session != nil && r.inc.session.life.Err() != nil && transientEnd(r.inc.session) && ctx.Err() == nil {
			return false, nil // another session
		}
		return false, err
	}
	s := r.inc.session
	if r.v == nil {
		if r.v, err = r.look(ctx, s, r.g.WorkerID); err != nil {
			return false, err
		}
	}
	if why := backward(r.known, r.v); why != "" {
		r.memory.suspect(why)
	}
	if r.memory.loss() != "" {
		r.v, r.known = nil, nil
		return false, r.heal(ctx, s)
	}
	if !r.v.slot.rec.Holds(r.g.Token, r.g.Generation) {
		return false, r.v.slot.rec.Lost(r.g)
	}
	return r.write(ctx, s, id)
}

// transientEnd tells whether a session is over for a reason that another one need
// not have.
func transientEnd(s *session) bool {
	why := context.Cause(s.life)
	return errors.Is(why, errExpired) || errors.Is(why, errSilent)
}

// clamped is the tick until which the window is to be extended: not further than any
// right clock can want it.
func (r *renewal) clamped(s *session) int64 {
	leader := s.leaderTime()
	if leader == 0 {
		return r.until
	}
	return min(r.until, record.Reach(r.v.meta.rec.Scale(), leader, MaxHorizon, r.opts.SkewBound))
}

// write makes the transaction, and looks what happened if that is not clear.
func (r *renewal) write(ctx context.Context, s *session, id int64) (bool, error) {
	rec, from, grows := r.v.slot.rec.Extended(r.g, r.v.meta.rec.Floor, r.clamped(s), r.now())
	r.from, r.floored = from, !grows
	value, err := record.Encode(rec)
	if err != nil {
		return false, err
	}
	resumes := r.v.owner != id
	ops := []any{unchanged(r.nodes.meta(), r.v.meta.raw)}
	if resumes {
		hold, err := r.holding(r.v, r.g.Token, rec.Worker)
		if err != nil {
			return false, err
		}
		ops = append(ops, hold...)
	} else {
		ops = append(ops, &client.CheckVersionRequest{Path: r.nodes.owner(rec.Worker), Version: 0})
	}
	ops = append(ops, r.replaces(r.nodes.slot(rec.Worker), r.v.slot.raw, []byte(value), r.v.slot.version)...)
	_, failed, err := r.Coordinator.write(ctx, s, ops)
	switch {
	case err != nil && failed < 0:
		return r.resolve(ctx, s, []byte(value), id, err)
	case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
		r.v = nil
		return false, nil
	case err != nil:
		return false, err
	case r.memory.loss() != "":
		r.v = nil
		return false, nil // what was extended may not be used; the next turn raises the floor
	}
	r.adopt(&view{meta: r.v.meta, slot: r.v.slot.then(rec, []byte(value)), owned: true, owner: id})
	if resumes {
		r.log.Info("lease put back", "namespace", r.namespace, "worker_id", rec.Worker)
	}
	return true, nil
}

// adopt takes over what is stored now.
func (r *renewal) adopt(v *view) { r.v, r.inc.view = v, v }

// resolve looks what became of a transaction whose reply was lost. If it was done,
// what is stored is adopted.
func (r *renewal) resolve(ctx context.Context, s *session, value []byte, id int64, cause error) (bool, error) {
	if s.life.Err() != nil {
		r.v = nil
		return false, ctx.Err()
	}
	v, err := r.look(ctx, s, r.g.WorkerID)
	if err != nil {
		return false, unclear(cause, err)
	}
	if string(v.slot.raw) == string(value) && v.owner == id && string(v.meta.raw) == string(r.v.meta.raw) && backward(r.known, v) == "" {
		r.adopt(v)
		return true, nil
	}
	r.v = v
	return false, nil
}

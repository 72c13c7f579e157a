package zk

import (
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// turns is how often a renewal or release looks again after it found something
// changed. Only the holder changes its slot, so more than two are rare.
const turns = 5

// errBusy says that a call gave up because what it looked at kept changing.
var errBusy = errors.New("what is stored kept changing; try again")

// tenure is one call of Renew or Release: what is done with a grant.
type tenure struct {
	*Coordinator
	g       coord.Grant
	inc     *incarnation
	known   *view         // that came with the grant; nil: none
	v       *view         // what is stored, as far as is known; nil: look
	refused *view         // what a transaction was refused for that took it to be stored
	took    time.Duration // to look; 0: there was no need to
	attempt error         // of a release that may have been done
}

// hold enters the incarnation of a grant; leave ends it.
func (c *Coordinator) hold(ctx context.Context, g coord.Grant) (*tenure, error) {
	inc, err := c.enter(ctx, g.Token)
	if err != nil {
		return nil, err
	}
	t := &tenure{Coordinator: c, g: g, inc: inc, known: viewOf(g)}
	if inc.unsure {
		return t, nil
	}
	t.v = t.fresh(t.known)
	// An earlier call may have changed the slot without the caller's learning of it.
	if last := t.fresh(inc.view); last != nil && last.slot.rec.Holds(g.Token, g.Generation) && (t.v == nil || last.slot.version > t.v.slot.version) {
		t.v = last
	}
	return t, nil
}

// fresh is v if nothing was lost since it was read: what a holder keeps of the time
// before a loss is not what is stored, however high its version is.
func (t *tenure) fresh(v *view) *view {
	if v == nil || !t.memory.sound(v.era) {
		return nil
	}
	return v
}

// keep makes turns until one is done. What a turn gets is a session, and a view in
// which the grant is held.
func (t *tenure) keep(ctx context.Context, turn func(context.Context, *session, int64) (done bool, err error)) error {
	var last error
	for n := range turns {
		if err := lifetime.Pause(ctx, n-1); err != nil {
			return err
		}
		done, err := t.once(ctx, turn)
		switch {
		case done || errors.Is(err, coord.ErrLeaseLost):
			return err
		case err != nil && !t.outlived(ctx):
			return err
		case err != nil:
			t.v, last = nil, err // its session has ended; the next turn has another one
		}
	}
	if last != nil {
		return fmt.Errorf("%w (%w)", errBusy, last)
	}
	return errBusy
}

func (t *tenure) once(ctx context.Context, turn func(context.Context, *session, int64) (done bool, err error)) (bool, error) {
	ttl := t.ttl()
	if t.known != nil {
		ttl = t.known.slot.rec.Lease()
	}
	id, err := t.connected(ctx, t.inc, ttl, 0)
	if err != nil {
		return false, err
	}
	s := t.inc.session
	if t.v == nil || s.leaderTime() == 0 { // a new session has to learn the time
		began := now()
		if t.v, err = t.look(ctx, s, t.g.WorkerID, t.g.Token); err != nil {
			if t.attempt != nil {
				err = unclear(t.attempt, err)
			}
			return false, err
		}
		t.took, t.inc.unsure = since(began), false
	}
	if rec := t.v.slot.rec; t.attempt != nil && rec.Token == "" && rec.Generation == t.g.Generation && !rec.Retired {
		return true, nil // nobody but this holder can have released it
	}
	if why := backward(t.known, t.v); why != "" {
		t.memory.suspect(t.v.era, why, t.known.testimony())
	}
	if !t.memory.sound(t.v.era) {
		t.v = nil
		return false, t.heal(ctx, s)
	}
	if !t.v.slot.rec.Holds(t.g.Token, t.g.Generation) {
		return false, t.v.slot.rec.Lost(t.g)
	}
	return turn(ctx, s, id)
}

// again has the next turn look at what is stored, because a transaction was refused for
// one of its operations.
func (t *tenure) again(op any, why error) error {
	refused := t.v
	if t.refused != nil && t.refused.same(refused) {
		return misfit(op, why)
	}
	t.v, t.refused = nil, refused
	return nil
}

// outlived tells whether the session has ended for a reason that another one need not
// have, and there is time for one.
func (t *tenure) outlived(ctx context.Context) bool {
	if ctx.Err() != nil || t.inc.session == nil {
		return false
	}
	return outlived(context.Cause(t.inc.session.life))
}

// outlived tells whether an error is the end of a session that another one need not
// have.
func outlived(err error) bool {
	return errors.Is(err, errExpired) || errors.Is(err, errSilent) || errors.Is(err, errIdle)
}

// lose ends the session of a grant that is not held any more, unless it serves
// another grant of the same token.
func (t *tenure) lose() {
	if v := t.inc.view; v == nil || v.slot.rec.Generation == t.g.Generation && v.slot.rec.Worker == t.g.WorkerID {
		t.drop(t.inc)
	}
}

// spare ends a session that was made to look at what turned out not to be there.
func (t *tenure) spare() {
	if t.inc.view == nil && t.known == nil {
		t.drop(t.inc)
	}
}

// renewal is one call of Renew.
type renewal struct {
	*tenure
	until   int64
	from    int64 // NotBefore of the result
	floored bool  // the window could not grow
}

func (c *Coordinator) renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	t, err := c.hold(ctx, g)
	if err != nil {
		return coord.Grant{}, err
	}
	defer c.leave(t.inc)
	r := &renewal{tenure: t, until: until}
	switch err := t.keep(ctx, r.turn); {
	case errors.Is(err, coord.ErrLeaseLost):
		t.lose()
		return coord.Grant{}, err
	case err != nil:
		t.spare()
		return coord.Grant{}, err
	case r.floored:
		return coord.Grant{}, r.v.meta.rec.Quarantined(c.namespace)
	}
	out := r.v.grant()
	out.NotBefore = r.from
	return out, nil
}

// clamped is the tick until which the window is to be extended: not further than any
// right clock can want it.
func (r *renewal) clamped(s *session) int64 {
	leader := s.leaderTime()
	if leader == 0 {
		return r.until
	}
	return min(r.until, protocol.Reach(r.v.meta.rec.Scale(), leader, MaxHorizon, r.opts.SkewBound))
}

// hurried tells whether there is no time for as much again as looking took.
func (r *renewal) hurried(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && r.took > 0 && until(end) < r.took+r.took/2
}

// stored tells whether what is stored is more than the caller has, because an earlier
// renewal was done without its learning of it, and needs nothing besides.
func (r *renewal) stored(id int64) bool {
	rec := r.v.slot.rec
	return r.v.owner == id && rec.NotAfter > r.g.NotAfter && max(rec.NotBefore, r.v.meta.rec.Floor) <= r.g.NotAfter
}

// turn makes the transaction, and looks what happened if that is not clear. Where
// answers take so long that there is only time to look, the caller gets what an
// earlier attempt has reached.
func (r *renewal) turn(ctx context.Context, s *session, id int64) (bool, error) {
	if r.stored(id) && r.hurried(ctx) {
		r.from, r.floored = r.g.NotBefore, false
		r.adopt(r.v)
		return true, nil
	}
	rec, from, grows := r.v.slot.rec.Extended(r.g, r.v.meta.rec.Floor, r.clamped(s), r.now())
	r.from, r.floored = from, !grows
	value, err := protocol.Encode(rec)
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
	failed, err := r.write(ctx, s, ops)
	switch {
	case err != nil && failed < 0:
		r.inc.unsure = true
		return r.resolve(ctx, s, []byte(value), id, err)
	case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
		return false, r.again(ops[failed], err)
	case err != nil:
		return false, err
	case !r.memory.sound(r.v.era):
		r.v = nil
		return false, nil // what was extended may not be used; the next turn raises the floor
	}
	r.adopt(&view{era: r.v.era, seen: s.time(), meta: r.v.meta, slot: r.v.slot.then(rec, []byte(value)), owned: true, owner: id, token: true})
	if resumes {
		s.held()
		r.log.Info("lease put back", "namespace", r.namespace, "worker_id", rec.Worker)
	}
	return true, nil
}

// adopt takes over what is stored now.
func (r *renewal) adopt(v *view) { r.v, r.inc.view, r.inc.unsure = v, v, false }

// resolve looks what became of a transaction whose reply was lost. If it was done,
// what is stored is adopted.
func (r *renewal) resolve(ctx context.Context, s *session, value []byte, id int64, cause error) (bool, error) {
	v, err := r.look(ctx, s, r.g.WorkerID, r.g.Token)
	if err != nil {
		return false, unclear(cause, err)
	}
	r.inc.unsure = false
	if string(v.slot.raw) == string(value) && v.owner == id && string(v.meta.raw) == string(r.v.meta.raw) && backward(r.known, v) == "" && r.memory.sound(r.v.era) {
		r.adopt(v)
		return true, nil
	}
	if r.v = v; !transient(cause) && !errors.Is(cause, client.ErrSessionExpired) && s.life.Err() == nil {
		return false, cause // a server has refused it, and would again
	}
	return false, nil
}

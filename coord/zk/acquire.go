package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// acquisition is one call of Acquire.
type acquisition struct {
	*Coordinator
	req   coord.Request
	inc   *incarnation
	ahead int64                         // the caller's clock less the coordinator's, in microseconds
	slots map[int]stored[protocol.Slot] // those that were looked at
	held  bool                          // the token has a grant that the caller knows of
	tried map[attempt]bool              // what was refused
	unfit []int                         // worker IDs that are free and cannot be granted
	why   error                         // the first of them cannot
}

// attempt is an operation of a grant, and what it took to be stored. As everybody who
// comes between changes that, none is made twice.
type attempt struct {
	op                     string
	meta, slot, identity   int32 // versions
	slotMade, identityMade int64
}

func (c *Coordinator) acquire(ctx context.Context, req coord.Request) (_ coord.Grant, err error) {
	a := &acquisition{Coordinator: c, req: req, ahead: c.ahead(req), tried: map[attempt]bool{}}
	if a.inc, err = c.enter(ctx, req.Token); err != nil {
		return coord.Grant{}, err
	}
	defer c.leave(a.inc)
	held := a.inc.view
	a.inc.view, a.held = nil, held != nil
	for n := 0; ; n++ {
		v, err := a.round(ctx)
		if ctx.Err() == nil {
			a.inc.survey = nil
		}
		if ctx.Err() == nil && outlived(err) {
			err = fmt.Errorf("%w: %w", errAgain, err)
		}
		if errors.Is(err, errAgain) {
			ended := lifetime.Pause(ctx, n)
			if ended == nil {
				continue
			}
			err = fmt.Errorf("%w (%w)", ended, err)
		}
		switch {
		case err == nil:
			a.inc.view = v
			return v.grant(), nil
		case held != nil:
			a.inc.view = held // what the token has is not touched by a request that fails
			return coord.Grant{}, err
		case transient(err) || errors.Is(err, errAgain) || ctx.Err() != nil:
			// What it holds is not known; its session is kept for one TTL, so that the same
			// token can find it.
			return coord.Grant{}, err
		default:
			c.drop(a.inc)
			return coord.Grant{}, err
		}
	}
}

// staleRequest is how much later than it was made a request may arrive here, on a
// machine that has no time for it.
const staleRequest = 5 * time.Second

// ahead is by how much the caller's clock is ahead of the coordinator's, in
// microseconds. The two should be the same, and are taken to be where the request can
// just have waited.
func (c *Coordinator) ahead(req coord.Request) int64 {
	now := c.now()
	d := req.Scale.Micro(req.Now) - now
	if req.Scale.Tick(now) == req.Now || d < 0 && d >= -staleRequest.Microseconds() {
		return 0
	}
	return d
}

// clock is the caller's clock.
func (a *acquisition) clock() int64 { return a.now() + a.ahead }

// round makes one attempt, from the first call to the last.
func (a *acquisition) round(ctx context.Context) (*view, error) {
	if _, err := a.connected(ctx, a.inc, a.req.TTL, a.req.Capacity); err != nil {
		return nil, err
	}
	s := a.inc.session
	sv, err := a.reached(ctx, s)
	switch {
	case errors.Is(err, errNoNamespace):
		if err := a.makeNamespace(ctx, s, protocol.NewMeta(protocol.SpaceOf(a.req))); err != nil {
			return nil, err
		}
		if sv, err = a.survey(ctx, s); errors.Is(err, errNoNamespace) {
			err = a.errUnmade()
		}
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	if a.memory.loss() != "" {
		if err := a.heal(ctx, s); err != nil {
			return nil, err
		}
		return nil, errAgain
	}
	a.inc.survey = sv
	switch {
	case sv.token.there():
		return a.regrant(ctx, sv.era, sv.token.rec.Worker)
	case len(sv.owned) >= a.req.Workers.Count:
		return nil, a.exhausted(ctx, s, sv)
	}
	return a.pick(ctx, s, sv)
}

// reached returns the survey of an earlier call with the same token that got no
// further in its time, or makes one. One that is old by now does no harm: what is
// written takes it to be as it is. But it makes a call lose its time.
func (a *acquisition) reached(ctx context.Context, s *session) (*survey, error) {
	sv := a.inc.survey
	a.inc.survey = nil
	if sv != nil && sv.session == s && a.memory.sound(sv.era) && since(sv.at) < s.ttl && a.vouches(sv) {
		return sv, nil
	}
	return a.survey(ctx, s)
}

// vouches tells whether the leader's clock, as a survey has read it, is near to the
// caller's clock as that is now, and not only as it was then: it may have been set.
func (a *acquisition) vouches(sv *survey) bool {
	began, ended := since(sv.begun).Microseconds(), since(sv.at).Microseconds()
	now := a.clock()
	return checkSkew(now-began, now-ended, sv.clock, a.opts.SkewBound) == nil
}

// grant is the one atomic step.
func (a *acquisition) grant(ctx context.Context, s *session, sv *survey, cand protocol.Candidate) (*view, error) {
	rec := cand.Granted(sv.meta.rec, a.req, a.clock())
	value, err := protocol.Encode(rec)
	if err != nil {
		return nil, err
	}
	if len(value) > sendRoom/2 {
		return nil, fmt.Errorf("%w: the slot would have %d bytes, and %d are allowed; Request.Holder has %d", coord.ErrInvalid, len(value), sendRoom/2, len(a.req.Holder))
	}
	path, old := a.nodes.slot(cand.ID), a.slots[cand.ID]
	ops := []any{unchanged(a.nodes.meta(), sv.meta.raw)}
	hold, err := a.holding(&view{}, a.req.Token, cand.ID)
	if err != nil {
		return nil, err
	}
	ops = append(ops, hold...)
	if old.there() {
		ops = append(ops, a.replaces(path, old.raw, []byte(value), old.version)...)
	} else {
		ops = append(ops, a.creates(path, []byte(value))...)
	}
	hint, err := a.remember(sv, cand.ID)
	if err != nil {
		return nil, err
	}
	ops = append(ops, hint...)
	failed, err := a.write(ctx, s, ops)
	switch {
	case err != nil && failed < 0:
		return a.resolve(ctx, sv.era, err)
	case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
		return nil, a.refused(ops[failed], sv, cand.ID, err)
	case err != nil:
		return nil, err
	case !a.memory.sound(sv.era):
		// What was granted may have to be given back. The next round raises the floor, if
		// nobody has, and then compares the grant with it.
		return nil, errAgain
	}
	return &view{era: sv.era, seen: s.time(), meta: sv.meta, slot: old.then(rec, []byte(value)), owned: true, owner: s.ident(), token: true}, nil
}

// refused is what it means that a transaction was refused for one of its operations.
func (a *acquisition) refused(op any, sv *survey, id int, why error) error {
	slot, owner := a.nodes.slot(id), a.nodes.owner(id)
	at := nodeOf(op)
	create, creates := op.(*client.CreateRequest)
	ofSlot := at == slot || strings.HasPrefix(at, slot+"/")
	this := attempt{
		op: at, meta: sv.meta.version, slot: a.slots[id].version, identity: sv.identity.version,
		slotMade: a.slots[id].czxid, identityMade: sv.identity.czxid,
	}
	switch again := a.tried[this]; {
	case creates && definite(why, client.ErrNoNode):
		return misfit(create, why) // everything else of the namespace is there
	case again && ofSlot:
		return &slotError{misfit(op, why)}
	case again:
		return misfit(op, why)
	}
	a.tried[this] = true
	if ofSlot || at == owner {
		return errTaken
	}
	return errAgain
}

// remember are the operations that note which worker ID the identity has.
func (a *acquisition) remember(sv *survey, id int) ([]any, error) {
	if a.req.Identity == "" || sv.identity.there() && sv.identity.rec.Worker == id {
		return nil, nil
	}
	value, err := protocol.Encode(workerRecord{Version: protocol.Version, Worker: id})
	if err != nil {
		return nil, err
	}
	path := a.nodes.identity(a.req.Identity)
	if sv.identity.there() {
		return []any{&client.SetDataRequest{Path: path, Data: []byte(value), Version: sv.identity.version}}, nil
	}
	return []any{&client.CreateRequest{Path: path, Data: []byte(value), Acl: a.acl}}, nil
}

// resolve looks what became of a grant whose reply was lost.
func (a *acquisition) resolve(ctx context.Context, era int64, cause error) (*view, error) {
	path := a.nodes.token(a.req.Token)
	replies, err := a.fetch(ctx, a.inc.session, get(path))
	if err != nil {
		return nil, unclear(cause, err)
	}
	token, err := read[workerRecord](path, replies[0])
	switch {
	case err != nil:
		return nil, err
	case !token.there():
		return nil, cause
	}
	return a.regrant(ctx, era, token.rec.Worker)
}

// regrant returns the grant that the token holds already. If its owner node is gone,
// the next renewal puts it back.
//
// A grant whose answer was lost and whose window the floor has overtaken meanwhile was
// made when windows were lost that it may overlap with. Nobody has used it, and nobody
// is to.
func (a *acquisition) regrant(ctx context.Context, era int64, worker int) (*view, error) {
	v, err := a.look(ctx, a.inc.session, worker, a.req.Token)
	switch {
	case err != nil:
		return nil, err
	case v.slot.rec.Token != a.req.Token:
		// Somebody else was granted it, and the token's node is in the way.
		a.drop(a.inc)
		return nil, errAgain
	case a.held:
		return v, nil
	case !a.memory.sound(era):
		return nil, errAgain
	case v.slot.rec.NotBefore < v.meta.rec.Floor:
		return nil, a.forgo(ctx, v)
	}
	return v, nil
}

// forgo gives back what is not to be used, whole: what is below the floor is over.
func (a *acquisition) forgo(ctx context.Context, v *view) error {
	ops, err := a.returns(v, a.req.Token, v.slot.rec.Trimmed(v.slot.rec.NotAfter))
	if err != nil {
		return err
	}
	_, err = a.write(ctx, a.inc.session, ops)
	if err == nil || definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion) {
		return errAgain
	}
	return err
}

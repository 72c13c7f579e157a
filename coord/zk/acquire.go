package zk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/record"
)

// probes is how many free worker IDs an acquisition looks at before it chooses.
const probes = 32

// acquisition is one call of Acquire.
type acquisition struct {
	*Coordinator
	req   coord.Request
	inc   *incarnation
	ahead int64                       // the caller's clock less the coordinator's, in microseconds
	slots map[int]stored[record.Slot] // those that were looked at
	held  bool                        // the token has a grant that the caller knows of
	tried map[attempt]bool            // what was refused
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
		if err := a.makeNamespace(ctx, s, record.NewMeta(record.SpaceOf(a.req))); err != nil {
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
	switch {
	case a.memory.loss() != "":
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
	all, err := a.probe(ctx, s, a.choose(sv))
	if err != nil {
		return nil, err
	}
	a.inc.survey = nil // it is used up
	usable, err := record.Rank(all, sv.meta.rec, a.req, a.reach())
	if len(usable) == 0 {
		return nil, err
	}
	return a.take(ctx, s, sv, usable)
}

// reached returns the survey of an earlier call with the same token that got no
// further in its time, or makes one. One that is old by now does no harm: what is
// written takes it to be as it is. But it makes a call lose its time.
func (a *acquisition) reached(ctx context.Context, s *session) (*survey, error) {
	sv := a.inc.survey
	a.inc.survey = nil
	if sv != nil && sv.session == s && a.memory.sound(sv.era) && since(sv.at) < s.ttl {
		return sv, nil
	}
	return a.survey(ctx, s)
}

// reach is the tick beyond which no right clock can have pushed a window.
func (a *acquisition) reach() int64 {
	return record.Reach(a.req.Scale, a.clock(), MaxHorizon, a.opts.SkewBound)
}

// choose returns free worker IDs in the order in which they are to be looked at: the
// one that the identity had last, if it is free, and then those from the ticket on.
func (a *acquisition) choose(sv *survey) []int {
	free := record.FreeFrom(a.req.Workers, sv.owned, sv.ticket, probes)
	if !sv.identity.there() {
		return free
	}
	share, id := a.req.Workers, sv.identity.rec.Worker
	if _, owned := slices.BinarySearch(sv.owned, id); owned || id < share.First || id-share.First >= share.Count {
		return free
	}
	if i := slices.Index(free, id); i >= 0 {
		free = slices.Delete(free, i, i+1)
	}
	return slices.Insert(free, 0, id)
}

// probe reads the slots of free worker IDs. Those that cannot be read are left out,
// unless all of them are.
func (a *acquisition) probe(ctx context.Context, s *session, free []int) ([]record.Candidate, error) {
	reads := make([]request, len(free))
	for i, id := range free {
		reads[i] = get(a.nodes.slot(id))
	}
	replies, err := s.together(ctx, reads...)
	if err != nil {
		return nil, err
	}
	a.slots = make(map[int]stored[record.Slot], len(free))
	var all []record.Candidate
	for i, id := range free {
		slot, slotErr := a.slotOf(id, replies[i])
		if slotErr != nil {
			a.log.Error("a slot cannot be read, its worker ID is not granted", "namespace", a.namespace, "worker_id", id, "error", slotErr)
			err = slotErr
			continue
		}
		a.slots[id] = slot
		all = append(all, record.Candidate{ID: id, Rev: int64(slot.version), Slot: slot.rec})
	}
	if len(all) == 0 {
		return nil, err
	}
	return all, nil
}

// take grants the first of the candidates that is still free.
func (a *acquisition) take(ctx context.Context, s *session, sv *survey, candidates []record.Candidate) (*view, error) {
	var unfit error
	for all, bad := len(candidates), 0; len(candidates) > 0; {
		v, err := a.grant(ctx, s, sv, candidates[0])
		if misfits, ok := errors.AsType[*slotError](err); ok {
			a.log.Error("a slot cannot be used, its worker ID is not granted", "namespace", a.namespace, "worker_id", candidates[0].ID, "error", misfits.error)
			if bad++; bad == all {
				unfit = misfits.error
			}
		} else if !errors.Is(err, errTaken) {
			return v, err
		}
		candidates = candidates[1:]
		a.shuffle(candidates, sv.meta.rec.Floor)
	}
	if unfit != nil {
		return nil, unfit
	}
	return nil, errAgain
}

// slotError is that of one slot, which does not keep others from being granted.
type slotError struct{ error }

// errTaken says that somebody else was faster with a candidate.
var errTaken = errors.New("the worker ID was taken meanwhile")

// shuffle reorders the candidates that open in time: whoever was faster goes on to
// the next one, too.
func (a *acquisition) shuffle(c []record.Candidate, floor int64) {
	n := 0
	for n < len(c) && c[n].Late(floor, a.req.OpenBy) == 0 {
		n++
	}
	rand.Shuffle(n, func(i, j int) { c[i], c[j] = c[j], c[i] })
}

// grant is the one atomic step.
func (a *acquisition) grant(ctx context.Context, s *session, sv *survey, cand record.Candidate) (*view, error) {
	rec := cand.Granted(sv.meta.rec, a.req, a.clock())
	value, err := record.Encode(rec)
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
	value, err := record.Encode(workerRecord{Version: record.Version, Worker: id})
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

// exhausted is the error if every worker ID of the share is held. The session of a
// holder ends no later than its TTL after its last sign of life, of which the last
// renewal is one that is on record.
func (a *acquisition) exhausted(ctx context.Context, s *session, sv *survey) error {
	share := a.req.Workers
	full := &coord.NoWorkerIDError{Namespace: a.namespace, Capacity: share.Count, InUse: len(sv.owned)}
	reads := make([]request, 0, min(share.Count, surveyed))
	for i := range cap(reads) {
		reads = append(reads, get(a.nodes.slot(sv.owned[i*len(sv.owned)/cap(reads)])))
	}
	replies, err := a.fetch(ctx, s, reads...)
	if err != nil {
		return fmt.Errorf("%w (when the next is free is not known: %w)", full, err)
	}
	for _, r := range replies {
		slot, err := read[record.Slot]("", r)
		switch {
		case err != nil:
			continue
		case slot.rec.Retired:
			full.Capacity--
			full.InUse--
			continue
		case slot.rec.Token == "":
			continue
		}
		end := record.Time(max(slot.rec.Renewed, 0)).Add(slot.rec.Lease())
		if full.Soonest.IsZero() || end.Before(full.Soonest) {
			full.Soonest = end
		}
	}
	if now := record.Time(a.clock()); !full.Soonest.IsZero() && full.Soonest.Before(now) {
		full.Soonest = now.Add(time.Second) // any moment: sessions end with the servers' ticks
	}
	return full
}

// surveyed is how many slots are read to tell when the next one is free.
const surveyed = 1024

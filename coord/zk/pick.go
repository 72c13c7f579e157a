package zk

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// probes is how many free worker IDs an acquisition looks at before it chooses.
const probes = 32

// pick looks at free worker IDs, some at a time, until one can be granted. The error is
// that of the first if none of them can.
func (a *acquisition) pick(ctx context.Context, s *session, sv *survey) (*view, error) {
	for {
		free := a.choose(sv)
		if len(free) == 0 {
			return nil, a.why
		}
		all, err := a.probe(ctx, s, free)
		if err != nil {
			return nil, err
		}
		usable, err := protocol.Rank(all, sv.meta.rec, a.req, a.reach())
		if errors.Is(err, coord.ErrNamespaceClosed) {
			return nil, err
		}
		for _, cand := range all {
			if !slices.ContainsFunc(usable, func(c protocol.Candidate) bool { return c.ID == cand.ID }) {
				a.reject(cand.ID, err)
			}
		}
		if len(usable) == 0 {
			continue
		}
		a.inc.survey = nil // it is used up
		v, err := a.take(ctx, s, sv, usable)
		if _, unfit := errors.AsType[*slotError](err); !unfit {
			return v, err
		}
	}
}

// reject leaves a worker ID out for the rest of the call.
func (a *acquisition) reject(id int, why error) {
	a.unfit = append(a.unfit, id)
	if a.why == nil {
		a.why = why
	}
}

// reach is the tick beyond which no right clock can have pushed a window.
func (a *acquisition) reach() int64 {
	return protocol.Reach(a.req.Scale, a.clock(), MaxHorizon, a.opts.SkewBound)
}

// choose returns free worker IDs in the order in which they are to be looked at: the
// one that the identity had last, if it is free, and then those from the ticket on.
func (a *acquisition) choose(sv *survey) []int {
	out := sv.owned
	if len(a.unfit) > 0 {
		out = slices.Sorted(slices.Values(slices.Concat(sv.owned, a.unfit)))
	}
	free := protocol.FreeFrom(a.req.Workers, out, sv.ticket, probes)
	if !sv.identity.there() {
		return free
	}
	share, id := a.req.Workers, sv.identity.rec.Worker
	if _, owned := slices.BinarySearch(out, id); owned || id < share.First || id-share.First >= share.Count {
		return free
	}
	if i := slices.Index(free, id); i >= 0 {
		free = slices.Delete(free, i, i+1)
	}
	return slices.Insert(free, 0, id)
}

// probe reads the slots of free worker IDs. Those that cannot be read are left out.
func (a *acquisition) probe(ctx context.Context, s *session, free []int) ([]protocol.Candidate, error) {
	reads := make([]request, len(free))
	for i, id := range free {
		reads[i] = get(a.nodes.slot(id))
	}
	replies, err := s.together(ctx, reads...)
	if err != nil {
		return nil, err
	}
	a.slots = make(map[int]stored[protocol.Slot], len(free))
	var all []protocol.Candidate
	for i, id := range free {
		slot, err := a.slotOf(id, replies[i])
		if err != nil {
			a.log.Error("a slot cannot be read, its worker ID is not granted", "namespace", a.namespace, "worker_id", id, "error", err)
			a.reject(id, err)
			continue
		}
		a.slots[id] = slot
		all = append(all, protocol.Candidate{ID: id, Rev: int64(slot.version), Slot: slot.rec})
	}
	return all, nil
}

// take grants the first of the candidates that is still free. The error is a
// [*slotError] if none can be granted.
func (a *acquisition) take(ctx context.Context, s *session, sv *survey, candidates []protocol.Candidate) (*view, error) {
	unfit := 0
	var why error
	for all := len(candidates); len(candidates) > 0; {
		v, err := a.grant(ctx, s, sv, candidates[0])
		if misfits, ok := errors.AsType[*slotError](err); ok {
			a.log.Error("a slot cannot be used, its worker ID is not granted", "namespace", a.namespace, "worker_id", candidates[0].ID, "error", misfits.error)
			a.reject(candidates[0].ID, misfits.error)
			if unfit++; unfit == all {
				why = err
			}
		} else if !errors.Is(err, errTaken) {
			return v, err
		}
		candidates = candidates[1:]
		a.shuffle(candidates, sv.meta.rec.Floor)
	}
	if why != nil {
		return nil, why
	}
	return nil, errAgain
}

// slotError is that of one slot, which does not keep others from being granted.
type slotError struct{ error }

// errTaken says that somebody else was faster with a candidate.
var errTaken = errors.New("the worker ID was taken meanwhile")

// shuffle reorders the candidates that open in time: whoever was faster goes on to
// the next one, too.
func (a *acquisition) shuffle(c []protocol.Candidate, floor int64) {
	n := 0
	for n < len(c) && c[n].Late(floor, a.req.OpenBy) == 0 {
		n++
	}
	rand.Shuffle(n, func(i, j int) { c[i], c[j] = c[j], c[i] })
}

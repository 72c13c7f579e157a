package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// probes is how many free worker IDs an acquisition looks at before it chooses.
const probes = 32

// acquisition is one call of Acquire.
type acquisition struct {
	*Coordinator
	req    coord.Request
	t      *tenant
	s      Session             // of the last round
	asked  int64               // the caller's clock at the begin, in microseconds since 1970
	began  time.Time           // monotonic
	slots  map[int]Entry[Slot] // those that were looked at
	unfit  []int               // worker IDs that are free and cannot be granted
	why    error               // the first of them cannot
	failed map[refusal]bool    // what was refused

	declared bool  // that the namespace allows a window as long was looked at
	listed   *Meta // what that showed, which the detector may not know; nil: nothing
}

// refusal is what a grant took to be stored when it was refused. As everybody who comes
// between changes that, none is made twice.
type refusal struct {
	worker, last         int
	conflict             Conflict
	meta, slotMade, slot int64
}

// staleRequest is how much later than it was made a request may arrive here, on a
// machine that has no time for it.
const staleRequest = 5 * time.Second

// callersAhead is by how much the caller's clock is ahead of the coordinator's, in
// microseconds. The two should be the same, and are taken to be where the request can
// just have waited.
func (c *Coordinator) callersAhead(req coord.Request) int64 {
	now := c.now()
	d := req.Scale.Micro(req.Now) - now
	if req.Scale.Tick(now) == req.Now || d < 0 && d >= -staleRequest.Microseconds() {
		return 0
	}
	return d
}

// clock is the caller's clock with which it has asked. That it was set since makes the
// window no other one than was asked for.
func (a *acquisition) clock() int64 { return a.asked + lifetime.Since(a.began).Microseconds() }

func (c *Coordinator) acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	t, err := c.enter(req.Token, req.TTL, req.Capacity)
	if err != nil {
		return coord.Grant{}, err
	}
	defer c.leave(t)
	a := &acquisition{Coordinator: c, req: req, t: t, asked: c.now() + c.callersAhead(req), began: lifetime.Now(), failed: map[refusal]bool{}}
	for n := 0; ; n++ {
		v, err := a.round(ctx)
		if ctx.Err() == nil {
			a.keep(nil)
		}
		switch {
		case err == nil:
			c.adopt(t, v, nil)
			return v.grant(), nil
		case ctx.Err() == nil && a.outlived(err):
			err = fmt.Errorf("%w: %w", errAgain, err)
		}
		if errors.Is(err, errAgain) {
			ended := a.pause(ctx, n)
			if ended == nil {
				continue
			}
			err = fmt.Errorf("%w (%w)", ended, err)
		}
		// What the token holds is not touched by a request that fails. Otherwise the session
		// is kept for one TTL, so that the same token can go on from here.
		if coord.Permanent(err) && c.newest(t, nil) == nil {
			c.drop(t)
		}
		return coord.Grant{}, err
	}
}

// keep remembers a survey for the next call with the same token.
func (a *acquisition) keep(sv *Survey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.survey = sv
}

// outlived reports whether the session has ended for a reason that another one need not
// have, and opens that.
func (a *acquisition) outlived(err error) bool {
	why := a.s.Over()
	return why != nil && !coord.Permanent(why) && !coord.Permanent(err)
}

// round makes one attempt, from the first call to the last.
func (a *acquisition) round(ctx context.Context) (*View, error) {
	a.mu.Lock()
	err := a.reopen(a.t)
	s, sv := a.t.session, a.t.survey
	a.s = s
	a.t.survey = nil
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := a.readDeclared(ctx, s); err != nil {
		return nil, err
	}
	if sv == nil || !a.detector.sound(sv.losses) || lifetime.Since(sv.ended) >= a.req.TTL {
		if sv, err = a.survey(ctx, s, a.ask()); err != nil {
			return nil, err
		}
	}
	if sv.Meta.Record.Fingerprint != a.req.Fingerprint {
		return nil, &coord.LayoutMismatchError{Namespace: a.set.Namespace, Stored: sv.Meta.Record.Fingerprint, Wanted: a.req.Fingerprint}
	}
	next := planAcquisition(sv, a.req, a.detector.memory().lost != "")
	switch next {
	case stepRaise:
		return nil, cmp.Or(a.heal(ctx, s, a.clock()), errAgain)
	case stepPick: // with a wrong clock, a window would reach far into the future
		if reach := a.Coordinator.reach(s, sv.Meta.Record); sv.Meta.Record.tooFar(reach) && !sv.Meta.Record.Closed() {
			return nil, sv.Meta.Record.Quarantined(a.set.Namespace, reach)
		}
		clock := sv.during(a.clock())
		if err := a.checkClock(sv, clock); err != nil {
			return nil, err
		}
		if err := a.awaitLife(ctx, s, sv, clock); err != nil {
			return nil, err
		}
	}
	// Not before: who asks for too much may be the only one who knows what was lost, and then
	// the namespace is declared again with it.
	if err := a.checkDeclared(a.req, sv.Meta); err != nil {
		return nil, err
	}
	a.keep(sv) // for the next call with this token, if this one gets no further
	switch next {
	case stepAgain:
		return a.regrant(ctx, s, sv.Worker)
	case stepFull:
		return nil, a.full(ctx, s, sv)
	}
	return a.pick(ctx, s, sv)
}

// ask says what an acquisition's survey is to read.
func (a *acquisition) ask() Ask {
	return Ask{Token: a.req.Token, Identity: a.req.Identity, Share: a.req.Workers, New: a.firstMeta(NewMeta(SpaceOf(a.req)), a.listed, false)}
}

// pick looks at free worker IDs, some at a time, until one can be granted. The error is
// that of the first if none of them can.
func (a *acquisition) pick(ctx context.Context, s Session, sv *Survey) (*View, error) {
	if last, ok := a.last(sv); ok {
		if v, err := a.take(ctx, s, sv, []Candidate{last}); !errors.Is(err, errTaken) && !errors.Is(err, errUnfit) {
			return v, err
		}
	}
	for {
		free := a.choose(sv)
		if len(free) == 0 {
			return nil, cmp.Or(a.why, sv.Why)
		}
		all, err := a.probe(ctx, s, free)
		if err != nil {
			return nil, err
		}
		usable, err := Rank(all, sv.Meta.Record, a.req, a.reach(sv.Meta.Record))
		if errors.Is(err, coord.ErrNamespaceClosed) {
			return nil, err
		}
		for _, cand := range all {
			if !slices.ContainsFunc(usable, func(c Candidate) bool { return c.ID == cand.ID }) {
				a.reject(cand.ID, err)
			}
		}
		if len(usable) == 0 {
			continue
		}
		v, err := a.take(ctx, s, sv, usable)
		if errors.Is(err, errUnfit) {
			continue
		}
		if errors.Is(err, errTaken) {
			err = errAgain
		}
		return v, err
	}
}

// last returns what the identity held last, if its slot was read with the survey, nobody
// holds it and its window opens in time.
func (a *acquisition) last(sv *Survey) (Candidate, bool) {
	if !sv.LastSlot.There() || sv.Last < 0 {
		return Candidate{}, false
	}
	cand := Candidate{ID: sv.Last, Slot: sv.LastSlot.Record}
	a.slots = map[int]Entry[Slot]{sv.Last: sv.LastSlot}
	return cand, a.free(sv, sv.Last) && a.fits(cand, sv.Meta.Record)
}

// free reports whether a worker ID of the share can be had.
func (a *acquisition) free(sv *Survey, id int) bool {
	_, owned := slices.BinarySearch(sv.Owned, id)
	return !owned && id >= a.req.Workers.First && id-a.req.Workers.First < a.req.Workers.Count
}

// choose returns free worker IDs in the order in which they are to be looked at: the one
// that the identity had last, and then those from the ticket on.
func (a *acquisition) choose(sv *Survey) []int {
	out := sv.Owned
	if len(sv.Barred)+len(a.unfit) > 0 {
		out = slices.Sorted(slices.Values(slices.Concat(sv.Owned, sv.Barred, a.unfit)))
	}
	ticket := sv.Begin - 1
	if ticket < 0 {
		ticket = a.set.Random(math.MaxInt32) // any place to begin at is as good as another
	}
	free := FreeFrom(a.req.Workers, out, ticket, probes)
	if sv.Last < 0 || !a.free(sv, sv.Last) || slices.Contains(out, sv.Last) {
		return free
	}
	if i := slices.Index(free, sv.Last); i >= 0 {
		free = slices.Delete(free, i, i+1)
	}
	return slices.Insert(free, 0, sv.Last)
}

// reject leaves a worker ID out for the rest of the call.
func (a *acquisition) reject(id int, why error) {
	a.unfit = append(a.unfit, id)
	a.why = cmp.Or(a.why, why)
}

// reach is the tick beyond which no right clock can have pushed a window.
func (a *acquisition) reach(meta Meta) int64 {
	return meta.Ward(a.clock(), a.horizon(), a.set.SkewBound)
}

// probe reads the slots of free worker IDs. Those that cannot be read are left out.
func (a *acquisition) probe(ctx context.Context, s Session, free []int) ([]Candidate, error) {
	probed, err := s.Probe(ctx, free)
	if err != nil {
		return nil, err
	}
	a.slots = make(map[int]Entry[Slot], len(free))
	var all []Candidate
	for i, id := range free {
		if err := probed[i].Err; err != nil {
			a.log.Error("a slot cannot be read, its worker ID is not granted", "namespace", a.set.Namespace, "worker_id", id, "error", err)
			a.reject(id, err)
			continue
		}
		a.slots[id] = probed[i].Slot
		all = append(all, Candidate{ID: id, Slot: probed[i].Slot.Record})
	}
	return all, nil
}

var (
	// errTaken says that somebody else was faster with every candidate.
	errTaken = errors.New("the worker ID was taken meanwhile")
	// errUnfit says that what belongs to the slots of all candidates is damaged.
	errUnfit = errors.New("no slot can be used")
)

// take grants the first of the candidates that is still free.
func (a *acquisition) take(ctx context.Context, s Session, sv *Survey, candidates []Candidate) (*View, error) {
	err := errUnfit
	for len(candidates) > 0 {
		cand := candidates[0]
		v, out, failed := a.grant(ctx, s, sv, cand)
		if failed != nil || v != nil {
			return v, failed
		}
		switch planRefusal(out, sv.Meta, out.Damage != nil && a.again(sv, cand.ID, out.Conflict)) {
		case reactLook:
			return nil, errAgain
		case reactFail:
			return nil, out.Damage
		case reactReject:
			a.log.Error("a slot cannot be used, its worker ID is not granted", "namespace", a.set.Namespace, "worker_id", cand.ID, "error", out.Damage)
			a.reject(cand.ID, out.Damage)
		case reactSame:
			// Somebody may have had it and given it back.
			cand.Slot, a.slots[cand.ID] = out.Now.Slot.Record, out.Now.Slot
			if a.fits(cand, sv.Meta.Record) {
				candidates[0] = cand
				continue
			}
			err = errTaken
		case reactNext:
			err = errTaken
		}
		candidates = candidates[1:]
		a.shuffle(candidates, sv.Meta.Record.Floor)
	}
	return nil, err
}

// fits reports whether a candidate can be granted, and its window opens in time.
func (a *acquisition) fits(cand Candidate, meta Meta) bool {
	return cand.Unusable(meta, a.req, a.reach(meta)) == nil && cand.Late(meta.Floor, a.req.OpenBy) == 0
}

// again reports whether a grant was refused before that took the same to be stored.
func (a *acquisition) again(sv *Survey, id int, conflict Conflict) bool {
	this := refusal{worker: -1, last: sv.Last, conflict: conflict, meta: sv.Meta.Version}
	if conflict == ConflictSlot {
		this.worker, this.slotMade, this.slot = id, a.slots[id].Made, a.slots[id].Version
	}
	again := a.failed[this]
	a.failed[this] = true
	return again
}

// shuffle reorders the candidates that open in time: whoever was faster goes on to the
// next one, too.
func (a *acquisition) shuffle(c []Candidate, floor int64) {
	n := 0
	for n < len(c) && c[n].Late(floor, a.req.OpenBy) == 0 {
		n++
	}
	for i := n - 1; i > 0; i-- {
		j := a.set.Random(int64(i) + 1)
		c[i], c[j] = c[j], c[i]
	}
}

// grant is the one atomic step. It returns what was granted, or what is in the way.
func (a *acquisition) grant(ctx context.Context, s Session, sv *Survey, cand Candidate) (granted *View, _ Outcome, _ error) {
	a.keep(nil) // it is used up
	req := a.req
	req.Until = a.clamped(s, sv.Meta.Record, req.Until)
	slot := cand.Granted(sv.Meta.Record, req, a.clock())
	out, unsound, err := a.commit(ctx, s, Change{
		Before: &View{Meta: sv.Meta, Slot: a.slots[cand.ID], losses: sv.losses},
		Slot:   &slot, Owner: OwnerTaken, Token: a.req.Token, Settle: sv.Origin == "",
	}, nil)
	switch {
	case err != nil:
		a.doubtful(a.t)
		granted, err = a.resolve(ctx, s, err)
		return granted, out, err
	case unsound || out.Lapsed:
		// What was granted may have to be given back. The next round raises the floor, if
		// nobody has, and then compares the grant with it.
		return nil, out, errAgain
	case out.Done:
		return out.Now, out, nil
	}
	return nil, out, nil
}

// resolve looks what became of a grant whose answer was lost.
func (a *acquisition) resolve(ctx context.Context, s Session, cause error) (*View, error) {
	sv, err := a.survey(ctx, s, Ask{Token: a.req.Token, Share: a.req.Workers})
	switch {
	case err != nil:
		return nil, unclear(cause, err) // the next call with this token finds out
	case sv.Worker < 0:
		return nil, cause // not done
	}
	return a.regrant(ctx, s, sv.Worker)
}

// regrant returns the grant that the token holds already. If its lease has ended, the
// next renewal puts that back.
func (a *acquisition) regrant(ctx context.Context, s Session, worker int) (*View, error) {
	v, err := a.look(ctx, s, worker, a.req.Token, nil)
	if err != nil {
		return nil, err
	}
	granted, stray, giveBack := planAgain(v, a.req.Token)
	switch {
	case stray:
		s.End()
		return nil, errAgain
	case !a.detector.sound(v.losses):
		return nil, errAgain
	case granted:
		return v, nil
	}
	if _, _, err := a.commit(ctx, s, giveBack, nil); err != nil {
		return nil, err
	}
	return nil, errAgain
}

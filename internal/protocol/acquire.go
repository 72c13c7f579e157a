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
	req     coord.Request
	t       *tenant
	asked   int64     // the caller's clock at the begin, in microseconds since 1970
	began   time.Time // monotonic
	refused refusals

	s      Session             // of the last round
	sv     *Survey             // of the last round
	used   bool                // a grant was tried by it
	slots  map[int]Entry[Slot] // those that were looked at
	unread bool                // leases could not be read before
	opens  []int               // with MustOpen: worker IDs that open in time
	unfit  []int               // worker IDs that are free and cannot be granted
	why    error               // the first of them cannot
}

// Acquire implements [coord.Coordinator].
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.checkRequest(req); err != nil {
		return coord.Grant{}, err
	}
	var g coord.Grant
	err := c.life.Do(ctx, "acquire a worker ID", func(ctx context.Context) (err error) {
		g, err = c.acquire(ctx, req)
		return err
	})
	return g, err
}

func (c *Coordinator) acquire(ctx context.Context, req coord.Request) (g coord.Grant, _ error) {
	t, err := c.enter(req.Token, req.TTL, req.Capacity)
	if err != nil {
		return g, err
	}
	defer c.leave(t)
	a := &acquisition{
		Coordinator: c, req: req, t: t, asked: c.now() + c.callersAhead(req),
		began: lifetime.Now(), refused: refusals{},
	}
	if err = c.insist(ctx, func() error {
		v, err := a.round(ctx)
		switch {
		case err == nil:
			c.adopt(t, v, nil)
			g = v.grant()
		case outlived(ctx, a.s, err): //mutant:outlived
			err = fmt.Errorf("%w: %w", errAgain, err)
		}
		return err
	}); err == nil {
		return g, nil
	}
	// What the token holds is not touched by a request that fails. Otherwise the session
	// is kept for one TTL, or longer by a token that waits for a worker ID, so that the same token
	// can go on from here.
	c.mu.Lock()
	defer c.mu.Unlock()
	t.waits = errors.Is(err, coord.ErrNoWorkerID) || errors.Is(err, coord.ErrLayoutMismatch)
	if coord.Permanent(err) && !t.waits && t.view == nil {
		c.evict(t)
	}
	if ctx.Err() != nil && !a.used {
		t.survey = a.sv // for the next call with this token, as this one gets no further
	}
	return g, err
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
//
//mutant:asked-clock
func (a *acquisition) clock() int64 { return a.asked + lifetime.Since(a.began).Microseconds() }

// round makes one attempt, from the first call to the last.
func (a *acquisition) round(ctx context.Context) (_ *View, err error) {
	a.mu.Lock()
	err = a.reopen(a.t)
	a.s, a.sv, a.used, a.t.survey = a.t.session, a.t.survey, false, nil
	peeks := a.t.waits || a.req.MustOpen
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := a.awaitClock(); err != nil {
		return nil, err
	}
	if far := a.callersAhead(a.req) > clockStep.Microseconds(); !a.set.ServerClock &&
		!a.witness.lasts(far) {
		return nil, errors.New("the caller's clock is far ahead of this machine's; waiting until that " +
			"has lasted for a while")
	}
	if peeks {
		if err := a.peek(ctx); err != nil {
			return nil, err
		}
	}
	if a.sv == nil || !a.detector.sound(a.sv.losses) || lifetime.Since(a.sv.ended) >= a.req.TTL {
		if a.sv, err = a.survey(ctx, a.s, a.ask()); err != nil {
			return nil, err
		}
	}
	free := a.sv.Worker < 0 && len(a.sv.Owned) < a.req.Workers.Count
	switch meta := a.sv.Meta.Record; {
	case !a.sv.Meta.There():
		return nil, a.checkDeclared(a.req, a.sv.Meta)
	case meta.Fingerprint != a.req.Fingerprint:
		return nil, a.mismatch(meta)
	case a.detector.observation().lost != "":
		return nil, cmp.Or(a.raiseIfLost(ctx, a.s, a.clock()), errAgain)
	case free: // with a wrong clock, a window would reach far into the future
		if farthest := a.farthest(a.s, meta); meta.Closed() || meta.tooFar(farthest) {
			return nil, meta.Quarantined(a.set.Namespace, farthest)
		}
		now := a.clock()
		if err := a.checkClock(a.sv, now); err != nil {
			return nil, err
		}
		if err := a.awaitLife(ctx, a.s, a.sv, now); err != nil {
			return nil, err
		}
	}
	// Not before: who asks for too much may be the only one who knows what was lost, and then
	// the namespace is declared again with it.
	if err := a.checkDeclared(a.req, a.sv.Meta); err != nil {
		return nil, err
	}
	switch {
	case a.sv.Worker >= 0:
		return a.regrant(ctx, a.sv.Worker)
	case !free:
		return nil, a.full(ctx)
	}
	return a.pick(ctx)
}

// peek returns the error of an acquisition that would get no worker ID. It writes nothing, so that
// many processes can wait for one. What it reads may be old: it decides nothing else.
func (a *acquisition) peek(ctx context.Context) error {
	sv, err := a.s.Survey(ctx, Ask{Share: a.req.Workers, Peek: true})
	if err != nil || !sv.Meta.There() {
		return err
	}
	meta := sv.Meta.Record
	switch {
	case meta.Fingerprint != a.req.Fingerprint:
		return a.mismatch(meta)
	case len(sv.Owned) >= a.req.Workers.Count:
		a.sv = sv
		err := a.full(ctx)
		a.sv = nil
		return err
	case !a.req.MustOpen:
		return nil
	case meta.Floor > a.req.OpenBy:
		return meta.Quarantined(a.set.Namespace, math.MaxInt64)
	}
	return a.findOpen(ctx, sv)
}

// findOpen notes free worker IDs whose windows open in time, of some that it looks at. The error
// says when the first of the others opens.
func (a *acquisition) findOpen(ctx context.Context, sv *Survey) error {
	share := a.req.Workers
	start := share.First + int(a.set.Random(int64(share.Count)))
	some := FreeFrom(share, sv.Owned, start, probes)
	probed, err := a.s.Probe(ctx, some)
	if err != nil {
		return err
	}
	a.opens = nil
	first := int64(math.MaxInt64)
	for i, id := range some {
		opens := Candidate{id, probed[i].Slot.Record}.opens(sv.Meta.Record.Floor)
		if opens <= a.req.OpenBy && probed[i].Err == nil {
			a.opens = append(a.opens, id)
		}
		first = min(first, opens)
	}
	if len(a.opens) > 0 {
		return nil
	}
	return &coord.NoWorkerIDError{
		Namespace: a.set.Namespace, Capacity: a.req.Workers.Count, InUse: len(sv.Owned),
		Soonest: Time(sv.Meta.Record.Scale().Micro(first + 1)),
	}
}

// mismatch is the error of a request with another layout than the namespace's.
func (a *acquisition) mismatch(meta Meta) error {
	return &coord.LayoutMismatchError{
		Namespace: a.set.Namespace, Stored: meta.Fingerprint, Wanted: a.req.Fingerprint,
	}
}

// ask says what an acquisition's survey is to read. Who asks for a long window makes no new
// namespace, which would not be declared with it, but again one that is remembered, here or in the
// back end.
func (a *acquisition) ask() Ask {
	ask := a.making(Ask{Token: a.req.Token, Identity: a.req.Identity, Share: a.req.Workers},
		NewMeta(SpaceOf(a.req)), false)
	if _, long := lifetime.Ahead(a.req, a.set.MaxHorizon); long &&
		a.detector.observation().meta.Nonce == "" {
		ask.New = nil
	}
	return ask
}

// pick looks at free worker IDs, some at a time, until one can be granted: at first that
// which the identity had last, if the survey has read its slot and its window opens in time.
// The error is that of the first if none of them can.
func (a *acquisition) pick(ctx context.Context) (*View, error) {
	last := Candidate{a.sv.Last, a.sv.LastSlot.Record}
	if a.sv.LastSlot.There() && a.lastIsFree() && a.unusable(last) == nil && a.opensLater(last) == 0 {
		a.slots = map[int]Entry[Slot]{last.ID: a.sv.LastSlot}
		if v, err := a.take(ctx, []Candidate{last}); v != nil || err != nil {
			return v, err
		}
	}
	for {
		free := a.choose()
		if a.req.MustOpen {
			free = a.opens
			a.opens = nil
		}
		if len(free) == 0 {
			return nil, cmp.Or(a.why, a.sv.Why, errAgain) //mutant:must-open-again
		}
		usable, err := a.probe(ctx, free)
		if err != nil {
			return nil, err
		}
		if len(usable) > 0 {
			v, err := a.take(ctx, usable)
			if v == nil {
				err = cmp.Or(err, errAgain)
			}
			return v, err
		}
	}
}

// held are the worker IDs of the share that cannot be granted, in no order.
func (a *acquisition) held() []int { return slices.Concat(a.sv.Owned, a.sv.Barred, a.unfit) }

// lastIsFree reports whether the worker ID that the identity had last can be had.
func (a *acquisition) lastIsFree() bool {
	id, share := a.sv.Last, a.req.Workers
	return id >= share.First && id-share.First < share.Count && !slices.Contains(a.held(), id)
}

// choose returns free worker IDs in the order in which they are to be looked at: the one
// that the identity had last, and then those from the start of the search on.
func (a *acquisition) choose() (free []int) {
	held := a.held()
	if a.lastIsFree() {
		free, held = []int{a.sv.Last}, append(held, a.sv.Last)
	}
	slices.Sort(held)
	return append(free, FreeFrom(a.req.Workers, held, a.start(), probes)...)
}

// start is the worker ID at which the search begins. A ticket moves it by one, and the nonce
// of the namespace by any number: namespaces that were meant to be one begin at different
// worker IDs, and so do processes that start at the same time.
func (a *acquisition) start() int {
	if a.set.InOrder {
		return a.req.Workers.First
	}
	ticket := a.sv.Ticket
	if ticket == 0 {
		ticket = a.set.Random(math.MaxInt32)
	}
	n := int64(cmp.Or(len(a.sv.Preferred), a.req.Workers.Count))
	at := int((a.sv.Meta.Record.offset()%n + ticket%n) % n) //mutant:nonce-start
	if len(a.sv.Preferred) > 0 {
		return a.sv.Preferred[at]
	}
	return a.req.Workers.First + at
}

// reject leaves a worker ID out for the rest of the call.
func (a *acquisition) reject(id int, why error) {
	a.unfit = append(a.unfit, id)
	a.why = cmp.Or(a.why, why)
}

// spoilt is reject for what belongs to a slot and is damaged.
func (a *acquisition) spoilt(id int, why error) {
	a.log.Error("a slot cannot be used, its worker ID is not granted", "namespace", a.set.Namespace,
		"worker_id", id, "error", why)
	a.reject(id, why)
}

// probe reads the slots of free worker IDs, and returns those that can be granted: first those
// whose window opens in time, as they come, then the others by when they open.
func (a *acquisition) probe(ctx context.Context, free []int) (usable []Candidate, _ error) {
	probed, err := a.s.Probe(ctx, free)
	if err != nil {
		return nil, err
	}
	a.slots = make(map[int]Entry[Slot], len(free))
	for i, id := range free {
		cand := Candidate{id, probed[i].Slot.Record}
		a.slots[id] = probed[i].Slot
		if err := probed[i].Err; err != nil {
			a.spoilt(id, err)
		} else if err := a.unusable(cand); err != nil {
			a.reject(id, err)
		} else if a.req.MustOpen && a.opensLater(cand) > 0 { //mutant:must-open
			a.reject(id, fmt.Errorf("%w: worker ID %d was used since", coord.ErrNoWorkerID, id))
		} else {
			usable = append(usable, cand)
		}
	}
	slices.SortStableFunc(usable, func(x, y Candidate) int {
		return cmp.Compare(a.opensLater(x), a.opensLater(y))
	})
	return usable, nil
}

// floored is the namespace with the floor of a grant: also above what a back end that has restarted
// may have forgotten, see Survey.Restarted.
func (a *acquisition) floored() Meta {
	meta := a.sv.Meta.Record
	if at := a.sv.Restarted; at != 0 { //mutant:restarted
		meta.Floor = max(meta.Floor, min(meta.WindowLimit(at, a.limits()), meta.LastTick-1))
	}
	return meta
}

// unusable is [Candidate.Unusable] by the survey, and late is [Candidate.Late].
func (a *acquisition) unusable(cand Candidate) error {
	meta := a.floored()
	return cand.Unusable(meta, a.req, meta.WindowLimit(a.clock(), a.limits()))
}

func (a *acquisition) opensLater(cand Candidate) int64 {
	return cand.OpensLater(a.floored().Floor, a.req.OpenBy)
}

// take grants the first of the candidates that is still free, each in one atomic step. It
// returns nothing if somebody else was faster with all of them.
func (a *acquisition) take(ctx context.Context, candidates []Candidate) (*View, error) {
	sv, req := a.sv, a.req
	a.used = true
	req.Until = a.clamped(a.s, sv.Meta.Record, req.Until)
	for _, cand := range candidates {
		slot := cand.Granted(a.floored(), req, a.clock())
		change := Change{
			Before: &View{
				Position: sv.Position, Meta: sv.Meta, Slot: a.slots[cand.ID], losses: sv.losses,
			},
			Slot: &slot, Owner: OwnerTaken, Token: req.Token, NoteLineage: sv.Origin == "",
		}
		out, unsound, err := a.commit(ctx, a.s, change, nil)
		damage := a.refused.damage(change, out, sv.Last)
		switch {
		case err != nil:
			a.doubtful(a.t)
			return a.resolve(ctx, err)
		case unsound || out.Lapsed:
			// What was granted may have to be given back. The next round raises the floor, if
			// nobody has, and then compares the grant with it.
			return nil, errAgain
		case out.Done:
			return out.Now, nil
		case out.Conflict != ConflictSlot: // what the candidates were chosen by has changed
			return nil, cmp.Or(damage, errAgain)
		case damage != nil:
			a.spoilt(cand.ID, damage)
		}
	}
	return nil, nil
}

// resolve looks what became of a grant whose answer was lost.
func (a *acquisition) resolve(ctx context.Context, cause error) (*View, error) {
	sv, err := a.survey(ctx, a.s, Ask{Token: a.req.Token, Share: a.req.Workers})
	switch {
	case err != nil:
		return nil, unclear(cause, err) // the next call with this token finds out
	case sv.Worker < 0:
		return nil, cause // not done
	}
	return a.regrant(ctx, sv.Worker)
}

// regrant returns the grant that the token holds already. If its lease has ended, the
// next renewal puts that back.
//
// A grant whose window the floor has overtaken meanwhile may have been made when windows
// were lost that it overlaps with. Who asks for it again has not used it, and is not to:
// it is given back whole, because what is below the floor is over.
func (a *acquisition) regrant(ctx context.Context, worker int) (*View, error) {
	v, err := a.look(ctx, a.s, worker, a.req.Token, nil)
	if err != nil {
		return nil, err
	}
	switch slot := v.Slot.Record; {
	case slot.Token != a.req.Token: // somebody else was granted it, and the token's mark is in the way
		a.s.End()
	case !a.detector.sound(v.losses):
	case slot.NotBefore >= v.Meta.Record.Floor: //mutant:replay-below
		return v, nil
	default:
		if _, _, err := a.commit(ctx, a.s, planRelease(v, v.grant(), slot.NotAfter), nil); err != nil {
			return nil, err
		}
	}
	return nil, errAgain
}

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// acquisition is one call of Acquire.
type acquisition struct {
	*Coordinator
	attempt
	req   coord.Request
	now   int64     // the caller's clock, microseconds since 1970
	began time.Time // when that was read, monotonic
}

// errAgain says that somebody else was faster.
var errAgain = errors.New("the namespace changed meanwhile")

func (c *Coordinator) acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	began := monotonic()
	a := &acquisition{Coordinator: c, attempt: c.attempts.take(req.Token, began), req: req, now: c.callersClock(req), began: began}
	v, err := a.race(ctx)
	switch {
	case err == nil || a.lease == 0 && a.ticket == noTicket:
	case a.sent, transient(err) && !errors.Is(err, context.Canceled):
		// Whoever tries again with this token goes on from here; if nobody does, the
		// lease ends by itself. It may be the grant's by then, which is not to be revoked.
		a.until = began.Add(req.TTL)
		c.attempts.keep(req.Token, a.attempt, monotonic())
		return coord.Grant{}, err
	}
	c.drop(a.lease)
	if err != nil {
		return coord.Grant{}, err
	}
	return v.grant(), nil
}

// race makes rounds until one gives a worker ID, or an error that is more than that
// somebody else was faster.
func (a *acquisition) race(ctx context.Context) (*view, error) {
	for n := 0; ; n++ {
		v, err := a.round(ctx)
		if !errors.Is(err, errAgain) {
			return v, err
		}
		a.ticket = noTicket // others are where it leads
		if ended := lifetime.Pause(ctx, n); ended != nil {
			return nil, fmt.Errorf("%w: %w", err, ended)
		}
	}
}

// callersClock is the caller's clock as a time: that of the coordinator, which is
// finer than a tick, where the two agree.
func (c *Coordinator) callersClock(req coord.Request) int64 {
	if now := c.now(); req.Scale.Tick(now) == req.Now {
		return now
	}
	return req.Scale.Micro(req.Now)
}

// round makes one attempt, from the first call to the last.
func (a *acquisition) round(ctx context.Context) (*view, error) {
	s, err := a.survey(ctx)
	if err != nil {
		return nil, err
	}
	// Before clocks are compared: whose clock is wrong acquires nothing, and may have
	// raised the floor.
	if err := a.settleDoubt(ctx); err != nil {
		return nil, err
	}
	check := clockCheck{now: a.now, took: monotonic().Sub(a.began), at: s.at, rev: s.rev, held: s.held}
	switch {
	case s.meta.Fingerprint != a.req.Fingerprint:
		return nil, &coord.LayoutMismatchError{Namespace: a.namespace, Stored: s.meta.Fingerprint, Wanted: a.req.Fingerprint}
	case a.memory.loss() != "":
		// A floor far in the future would be as bad as the loss.
		if err := a.checkClock(ctx, check); err != nil {
			return nil, err
		}
		if err := a.heal(ctx, a.now); err != nil {
			return nil, err
		}
		return nil, errAgain
	case s.token != nil:
		return a.regrant(ctx, s.era, s.token.Value)
	case len(s.owned) >= a.req.Workers.Count:
		return nil, a.exhausted(ctx, s)
	}
	if err := a.checkClock(ctx, check); err != nil {
		return nil, err
	}
	hint, usable, err := a.hint(s)
	if err != nil {
		return nil, err
	}
	if usable {
		if err := a.needLease(ctx); err != nil {
			return nil, err
		}
		v, err := a.take(ctx, s, []protocol.Candidate{hint})
		if !errors.Is(err, errTaken) {
			return v, err
		}
	}
	free := protocol.FreeFrom(a.req.Workers, s.owned, s.ticket, a.req.Workers.Count)
	if hint.Rev != 0 && s.free(a.req.Workers, hint.ID) {
		free = first(free, hint.ID)
	}
	return a.pick(ctx, s, free)
}

// pick grants one of the free worker IDs. It looks at some of them, and at more only if
// none of those can be granted.
func (a *acquisition) pick(ctx context.Context, s *survey, free []int) (*view, error) {
	var why error
	for some := range slices.Chunk(free, probes) {
		all, err := a.probe(ctx, some)
		if err != nil {
			return nil, err
		}
		usables, err := protocol.Rank(all.readable, s.meta, a.req, a.reach())
		if len(usables) > 0 {
			v, err := a.take(ctx, s, usables)
			if errors.Is(err, errTaken) {
				err = errAgain
			}
			return v, err
		}
		why = cmp.Or(why, all.why, err)
	}
	return nil, why
}

// probes is how many free worker IDs an acquisition looks at before it chooses.
const probes = 32

// reach is the tick beyond which no right clock can have pushed a window.
func (a *acquisition) reach() int64 {
	return protocol.Reach(a.req.Scale, a.now, MaxHorizon, a.opts.SkewBound)
}

// free tells whether a worker ID of the share can be had.
func (s *survey) free(share coord.Range, id int) bool {
	_, owned := slices.BinarySearch(s.owned, id)
	return !owned && id >= share.First && id < share.First+share.Count
}

// first puts id in front.
func first(ids []int, id int) []int {
	if i := slices.Index(ids, id); i >= 0 {
		ids = slices.Delete(ids, i, i+1)
	}
	return slices.Insert(ids, 0, id)
}

// hint returns what the identity held last. It is usable if nobody holds it and its
// window opens in time: then its slot need not be read, because the copy that the
// identity has was written together with it. Whether it is still the same, the
// transaction compares.
func (a *acquisition) hint(s *survey) (_ protocol.Candidate, usable bool, _ error) {
	if s.identity == nil {
		return protocol.Candidate{}, false, nil
	}
	slot, err := decode[protocol.Slot](string(s.identity.Key), s.identity.Value)
	if err != nil {
		return protocol.Candidate{}, false, err
	}
	h := protocol.Candidate{ID: slot.Worker, Rev: s.identity.ModRevision, Slot: slot}
	usable = s.free(a.req.Workers, h.ID) && h.Unusable(s.meta, a.req, a.reach()) == nil && h.Late(s.meta.Floor, a.req.OpenBy) == 0
	return h, usable, nil
}

// needLease makes sure that there is a lease to put the owner key on.
func (a *acquisition) needLease(ctx context.Context) error {
	if a.ready {
		return nil
	}
	if a.leased {
		// An earlier call has made it; it may be over.
		err := a.keepAlive(ctx, a.lease)
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			a.ready = err == nil
			return err
		}
		a.attempt.lease = 0
	}
	if a.lease == 0 {
		a.attempt.lease = newLeaseID()
	}
	err := a.grantLease(ctx, a.lease, a.req.TTL)
	a.leased, a.ready = err == nil, err == nil
	return err
}

// useLease notes that the lease is the grant's, or is over.
func (a *acquisition) useLease() { a.attempt.lease, a.leased, a.ready, a.sent = 0, false, false, false }

// probed is what is stored of some free worker IDs.
type probed struct {
	readable []protocol.Candidate
	why      error // why others are not, the first of them; nil: all are
}

// probe reads the slots of free worker IDs, and grants the lease at the same time.
func (a *acquisition) probe(ctx context.Context, free []int) (probed, error) {
	ops := make([]clientv3.Op, len(free))
	for i, id := range free {
		ops[i] = clientv3.OpGet(a.keys.slot(id))
	}
	var wg sync.WaitGroup
	var leaseErr error
	wg.Go(func() { leaseErr = a.needLease(ctx) })
	resp, err := a.fetch(ctx, ops...)
	wg.Wait()
	if err = cmp.Or(err, leaseErr); err != nil {
		return probed{}, err
	}
	var p probed
	for i, id := range free {
		slot, rev, err := a.slotOf(id, one(resp, i))
		if err != nil {
			a.log.Error("a slot cannot be read, its worker ID is not granted", "namespace", a.namespace, "worker_id", id, "error", err)
			p.why = cmp.Or(p.why, err)
			continue
		}
		p.readable = append(p.readable, protocol.Candidate{ID: id, Rev: rev, Slot: slot})
	}
	return p, nil
}

// errTaken says that others were faster with every candidate.
var errTaken = errors.New("all candidates were taken meanwhile")

// take grants the first of the candidates that is still free.
func (a *acquisition) take(ctx context.Context, s *survey, candidates []protocol.Candidate) (*view, error) {
	for len(candidates) > 0 {
		cand := candidates[0]
		granted, now, err := a.grant(ctx, s, cand)
		switch {
		case err != nil:
			return nil, err
		case granted != nil:
			return granted, nil
		case now.metaRev != s.metaRev:
			return nil, errAgain
		}
		// Somebody may have had it and given it back.
		cand = protocol.Candidate{ID: cand.ID, Rev: now.slotRev, Slot: now.slot}
		if now.ownRev == 0 && cand.Late(s.meta.Floor, a.req.OpenBy) == 0 && cand.Unusable(s.meta, a.req, a.reach()) == nil {
			candidates[0] = cand
			continue
		}
		candidates = candidates[1:]
		a.shuffle(candidates, s.meta.Floor)
	}
	return nil, errTaken
}

// shuffle reorders the candidates that open in time: whoever was faster goes on to
// the next one, too.
func (a *acquisition) shuffle(c []protocol.Candidate, floor int64) {
	n := 0
	for n < len(c) && c[n].Late(floor, a.req.OpenBy) == 0 {
		n++
	}
	rand.Shuffle(n, func(i, j int) { c[i], c[j] = c[j], c[i] })
}

// grant is the one atomic step. It returns what was granted, or what is in the way.
func (a *acquisition) grant(ctx context.Context, s *survey, cand protocol.Candidate) (granted, inWay *view, _ error) {
	rec := cand.Granted(s.meta, a.req, a.now)
	before := &view{meta: s.meta, metaRev: s.metaRev, slot: cand.Slot, slotRev: cand.Rev}
	then, err := a.writes(rec, a.lease, true)
	if err != nil {
		return nil, nil, err
	}
	tokenKey := a.keys.token(a.req.Token)
	compare, err := a.unchanged(cand.ID, before)
	if err != nil {
		return nil, nil, err
	}
	compare = append(compare, clientv3.Compare(clientv3.CreateRevision(tokenKey), "=", 0))
	orElse := append(a.gets(cand.ID), clientv3.OpGet(tokenKey))
	if !s.settled {
		// Every reply carries it; this is the first write that can.
		then = append(then, clientv3.OpPut(a.keys.cluster(), clusterName(a.memory.clusterID())))
	}
	a.sent = true
	resp, err := a.propose(ctx, compare, then, orElse)
	a.sent = err != nil
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		a.useLease()
		return nil, nil, errAgain
	case err != nil:
		granted, err = a.resolve(ctx, s.era, err)
		return granted, nil, err
	case !a.memory.sound(s.era):
		if err = a.undo(ctx, a.lease); errors.Is(err, errAgain) {
			a.useLease()
		}
		return nil, nil, err
	case !resp.Succeeded && one(resp, 3) != nil:
		return nil, nil, errAgain // an earlier attempt has come through
	case !resp.Succeeded:
		inWay, err = a.viewFrom(cand.ID, resp)
		return nil, inWay, err
	}
	rev := resp.Header.GetRevision()
	granted = &view{
		era: s.era, seen: resp.seen, meta: s.meta, metaRev: s.metaRev,
		slot: rec, slotRev: rev, slotMade: madeAt(resp), ownRev: rev, lease: a.lease,
	}
	a.useLease()
	return granted, nil, nil
}

// undo takes back what was granted on a lease by a cluster that turned out to have lost
// writes. The next round raises the floor.
func (a *acquisition) undo(ctx context.Context, lease clientv3.LeaseID) error {
	_, _, err := ask(ctx, &a.pace, true, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return a.client.Revoke(ctx, lease)
	})
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	return errAgain
}

// resolve looks what became of a grant whose reply was lost.
func (a *acquisition) resolve(ctx context.Context, era int64, cause error) (*view, error) {
	tokenKey := a.keys.token(a.req.Token)
	resp, err := a.fetch(ctx, clientv3.OpGet(tokenKey))
	if err != nil {
		return nil, unclear(cause, err) // the next call with this token finds out
	}
	kv := one(resp, 0)
	if kv == nil {
		return nil, cause // not done
	}
	return a.regrant(ctx, era, kv.Value)
}

// regrant returns the grant that the token holds already.
//
// A grant whose window the floor has overtaken meanwhile may have been made when windows
// were lost that it overlaps with. Who asks for it again has not used it, and is not to.
func (a *acquisition) regrant(ctx context.Context, era int64, value []byte) (*view, error) {
	t, err := decode[tokenRecord](a.keys.token(a.req.Token), value)
	if err != nil {
		return nil, err
	}
	v, err := a.look(ctx, t.Worker)
	if err != nil {
		return nil, err
	}
	if v.lease == a.lease {
		a.useLease()
	}
	switch {
	case v.slot.Token != a.req.Token || v.ownRev == 0:
		return nil, errAgain // its lease has ended just now
	case !a.memory.sound(era):
		return nil, errAgain
	case v.slot.NotBefore < v.meta.Floor:
		return nil, a.undo(ctx, v.lease)
	}
	err = a.keepAlive(ctx, v.lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil, errAgain
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

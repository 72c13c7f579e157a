package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// turns is how often a renewal or release looks again after it found something
// changed. Only the holder changes its slot, so more than two are rare.
const turns = 5

// errBusy says that a call gave up because what it looked at kept changing.
var errBusy = errors.New("what is stored kept changing; try again")

func (c *Coordinator) renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	r := renewal{Coordinator: c, g: g, until: until, known: viewOf(g)}
	r.v = c.fresh(r.known)
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		r.useSpare()
		c.drop(r.spare)
	}()
	for range turns {
		if r.v == nil {
			v, err := r.look(ctx, g.WorkerID)
			if err != nil {
				return coord.Grant{}, err
			}
			r.v = v
		}
		if !r.stayAlive(alive) {
			return coord.Grant{}, coord.ErrClosed
		}
		done, err := r.turn(ctx)
		switch {
		case err != nil:
			return coord.Grant{}, err
		case done:
			r.lookAtFloor(ctx)
			if r.floored {
				return coord.Grant{}, r.v.meta.Quarantined(c.namespace)
			}
			out := r.v.grant()
			out.NotBefore = r.from
			return out, nil
		}
	}
	return coord.Grant{}, errBusy
}

// lookAtFloor lowers the floor if it was raised too far, in half of the time that is left:
// the holder is to learn soon that its window was extended.
func (r *renewal) lookAtFloor(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeLeft(ctx)/2)
	defer cancel()
	if r.floored {
		r.question(r.v)
	}
	if err := r.settleDoubt(ctx); err != nil {
		r.log.Warn("a floor that may be too high cannot be looked at", "namespace", r.namespace, "error", err)
	}
}

// renewal is one call of Renew.
type renewal struct {
	*Coordinator
	g       coord.Grant
	until   int64
	known   *view            // that came with the grant; nil: none
	v       *view            // what is stored, as far as is known; nil: look
	alive   chan error       // the result of keeping the lease alive; nil: none is under way
	spare   clientv3.LeaseID // made and not used
	from    int64            // NotBefore of the result
	floored bool             // the window could not grow
}

// turn makes one attempt on a view. If it is not done and there is no error, the view is
// newer, or nil: look.
func (r *renewal) turn(ctx context.Context) (done bool, err error) {
	if why := r.contradicts(r.known, r.v); why != "" {
		r.memory.suspect(r.v.era, why, r.known)
	}
	if !r.memory.sound(r.v.era) {
		r.v = nil
		return false, r.heal(ctx, 0)
	}
	if !r.v.holds(r.g.Token, r.g.Generation) {
		return false, r.v.slot.Lost(r.g)
	}
	if r.v.metaRev == 0 {
		return false, damaged(r.keys.meta(), errors.New("the key is missing and there are slots"))
	}
	r.useSpare()
	next, from, grows := r.v.slot.Extended(r.g, r.v.meta.Floor, r.until, r.now())
	r.from, r.floored = from, !grows
	lease := r.v.lease
	resumes := r.v.ownRev == 0
	if resumes {
		if r.spare == 0 {
			if r.spare, err = r.newLease(ctx, next.Lease()); err != nil {
				return false, err
			}
		}
		lease = r.spare
	}
	if done, err = r.write(ctx, next, lease, resumes); !done || err != nil {
		return false, err
	}
	if resumes {
		r.spare = 0
		r.log.Info("lease put back", "namespace", r.namespace, "worker_id", next.Worker)
		return true, nil
	}
	return r.stillAlive(ctx), nil
}

// useSpare notes that the spare lease is the grant's, if it is: a write whose answer was
// lost may have put it there.
func (r *renewal) useSpare() {
	if r.v != nil && r.v.lease == r.spare {
		r.spare = 0
	}
}

// write makes the transaction, and looks what happened if that is not clear.
func (r *renewal) write(ctx context.Context, next protocol.Slot, lease clientv3.LeaseID, resumes bool) (bool, error) {
	then, err := r.writes(next, lease, resumes)
	if err != nil {
		return false, err
	}
	compare, err := r.unchanged(next.Worker, r.v)
	if err != nil {
		return false, err
	}
	resp, err := r.propose(ctx, compare, then, r.gets(next.Worker))
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		r.v = nil // the lease is over, and the owner key with it
		if resumes {
			r.spare = 0
		}
		return false, nil
	case err != nil:
		return r.resolve(ctx, next, lease, resumes, err)
	case !resp.Succeeded:
		r.v, err = r.viewFrom(next.Worker, resp)
		return false, err
	case !r.memory.sound(r.v.era):
		r.v = nil
		return false, nil // what was extended may not be used; the next turn raises the floor
	}
	rev := resp.Header.GetRevision()
	v := &view{
		era: r.v.era, seen: resp.seen, meta: r.v.meta, metaRev: r.v.metaRev,
		slot: next, slotRev: rev, slotMade: r.v.slotMade, ownRev: r.v.ownRev, lease: lease,
	}
	if resumes {
		v.ownRev = rev
	}
	r.v = v
	return true, nil
}

// resolve looks what became of a transaction whose reply was lost. If it was done,
// what is stored is adopted.
func (r *renewal) resolve(ctx context.Context, next protocol.Slot, lease clientv3.LeaseID, resumes bool, cause error) (bool, error) {
	v, err := r.look(ctx, next.Worker)
	if err != nil {
		if resumes {
			r.spare = 0 // the owner key may be on it
		}
		return false, unclear(cause, err)
	}
	if v.slot == next && v.lease == lease && v.metaRev == r.v.metaRev && r.contradicts(r.known, v) == "" && r.memory.sound(r.v.era) {
		r.v = v
		return true, nil
	}
	if v.slotRev == r.v.slotRev {
		return false, cause // not done; trying again is up to the caller
	}
	r.v = v
	return false, nil
}

// stayAlive begins to keep the lease alive, if it is known and that was not begun yet; it
// returns false if the coordinator is closed.
func (r *renewal) stayAlive(ctx context.Context) bool {
	if r.alive != nil || r.v == nil || r.v.lease == 0 || !r.v.holds(r.g.Token, r.g.Generation) {
		return true
	}
	lease, alive := r.v.lease, make(chan error, 1)
	r.alive = alive
	return r.life.Spawn(func() { alive <- r.keepAlive(ctx, lease) })
}

// stillAlive waits for what keeping the lease alive has come to, for half of the time
// that is left: the holder is to learn soon that its window was extended. If the lease
// is gone, it has to be put back; if the outcome is unknown, the window is extended all
// the same, and the next renewal tries again.
func (r *renewal) stillAlive(ctx context.Context) bool {
	if r.alive == nil {
		return true
	}
	late := time.NewTimer(timeLeft(ctx) / 2)
	defer late.Stop()
	var err error
	select {
	case err = <-r.alive:
	case <-late.C:
		err = context.DeadlineExceeded
	}
	r.alive = nil
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		r.v = nil
		return false
	case err != nil:
		r.log.Warn("window extended, but the lease was not kept alive", "namespace", r.namespace, "worker_id", r.g.WorkerID, "error", err)
	}
	return true
}

// writes are the operations that store a slot and keep its holder: the identity's
// copy always changes together with it. Entering, the token key is written too.
func (c *Coordinator) writes(s protocol.Slot, lease clientv3.LeaseID, entering bool) ([]clientv3.Op, error) {
	var opts []clientv3.OpOption
	if entering {
		opts = append(opts, clientv3.WithPrevKV()) // for madeAt
	}
	ops, err := c.slotWrites(s, opts...)
	if err != nil {
		return nil, err
	}
	owner, err := protocol.Encode(ownerRecord{Version: protocol.Version, Renewed: s.Renewed, TTL: s.TTL})
	if err != nil {
		return nil, err
	}
	ops = append(ops, clientv3.OpPut(c.keys.owner(s.Worker), owner, clientv3.WithLease(lease)))
	if entering {
		token, err := protocol.Encode(tokenRecord{Version: protocol.Version, Worker: s.Worker})
		if err != nil {
			return nil, err
		}
		ops = append(ops, clientv3.OpPut(c.keys.token(s.Token), token, clientv3.WithLease(lease)))
	}
	return ops, nil
}

// slotWrites are the operations that store a slot, of which opts are for the first.
func (c *Coordinator) slotWrites(s protocol.Slot, opts ...clientv3.OpOption) ([]clientv3.Op, error) {
	value, err := protocol.Encode(s)
	if err != nil {
		return nil, err
	}
	ops := []clientv3.Op{clientv3.OpPut(c.keys.slot(s.Worker), value, opts...)}
	if s.Identity != "" {
		ops = append(ops, clientv3.OpPut(c.keys.identity(s.Identity), value))
	}
	return ops, nil
}

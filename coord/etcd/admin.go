package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Init implements [coord.Admin]. With etcd, a namespace need not be declared before
// it is used: one that was never seen is taken to be new.
func (c *Coordinator) Init(ctx context.Context, s coord.Space) error {
	meta := protocol.NewMeta(s)
	if err := meta.Check(); err != nil {
		return fmt.Errorf("%w: Space: %w", coord.ErrInvalid, err)
	}
	return c.admin(ctx, "declare the namespace new", func(ctx context.Context, ns namespaceState) ([]clientv3.Cmp, []clientv3.Op, error) {
		switch {
		case ns.metaRev != 0 && ns.meta.Fingerprint != s.Fingerprint:
			return nil, nil, &coord.LayoutMismatchError{Namespace: c.namespace, Stored: ns.meta.Fingerprint, Wanted: s.Fingerprint}
		case ns.slots > 0:
			return nil, nil, fmt.Errorf("%w: the namespace is not new: worker IDs were granted in it; use another namespace", coord.ErrInvalid)
		}
		if ns.metaRev != 0 {
			meta = ns.meta // a floor is never lowered
		}
		value, err := protocol.Encode(meta)
		none := func(folder string) clientv3.Cmp {
			return clientv3.Compare(clientv3.CreateRevision(folder), "=", 0).WithPrefix()
		}
		return []clientv3.Cmp{none(c.keys.slots()), none(c.keys.owners())}, []clientv3.Op{
			clientv3.OpPut(c.keys.meta(), value),
			clientv3.OpPut(c.keys.cluster(), clusterName(ns.header.GetClusterId())),
		}, err
	})
}

// Quarantine implements [coord.Admin]. With the zero time the operator says that the
// cluster may have lost writes: that is on record then, and those who notice it later
// do not raise the floor again. If this machine's clock differs from those of the
// holders, it is refused with a [*coord.ClockSkewError]; as long as the holders may be
// dead, Quarantine waits.
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return c.changeFloor(ctx, "raise the floor", func(meta protocol.Meta, now int64) (protocol.Meta, error) {
		if until.IsZero() {
			return meta.AfterLoss(c.memory.known(), now, MaxHorizon, c.opts.SkewBound), nil
		}
		return meta.Quarantine(until)
	})
}

// Lower implements [coord.Lowerer]. Clocks are compared as Quarantine does.
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	return c.changeFloor(ctx, "lower the floor", func(meta protocol.Meta, now int64) (protocol.Meta, error) {
		return meta.Lowered(now, MaxHorizon, c.opts.SkewBound)
	})
}

// changeFloor changes the namespace's record by an operator's wish, and returns the
// floor that holds then. Nothing is written if nothing changes.
func (c *Coordinator) changeFloor(ctx context.Context, what string, change func(meta protocol.Meta, now int64) (protocol.Meta, error)) (time.Time, error) {
	var meta protocol.Meta
	err := c.admin(ctx, what, func(ctx context.Context, ns namespaceState) ([]clientv3.Cmp, []clientv3.Op, error) {
		if ns.metaRev == 0 {
			return nil, nil, fmt.Errorf("%w: there is no such namespace; declare it with Init first", coord.ErrInvalid)
		}
		now := c.now()
		var err error
		if meta, err = change(ns.meta, now); err != nil {
			return nil, nil, err
		}
		if meta == ns.meta {
			return nil, nil, errDone
		}
		if err := c.checkClock(ctx, clockCheck{now: now, at: ns.at, rev: ns.header.GetRevision(), held: ns.held}); err != nil {
			return nil, nil, err
		}
		value, err := protocol.Encode(meta)
		then := []clientv3.Op{clientv3.OpPut(c.keys.meta(), value)}
		if meta.Loss.Nonce != ns.meta.Loss.Nonce {
			then = append(then, clientv3.OpPut(c.keys.cluster(), clusterName(ns.header.GetClusterId())))
		}
		return nil, then, err
	})
	if err != nil {
		return time.Time{}, err
	}
	return protocol.Time(meta.Scale().Micro(meta.Floor)), nil
}

// Retire implements [coord.Admin].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	return c.admin(ctx, fmt.Sprintf("retire worker ID %d", workerID), func(ctx context.Context, ns namespaceState) ([]clientv3.Cmp, []clientv3.Op, error) {
		switch {
		case ns.metaRev == 0:
			return nil, nil, fmt.Errorf("%w: there is no such namespace", coord.ErrInvalid)
		case workerID < 0 || workerID >= ns.meta.Capacity:
			return nil, nil, fmt.Errorf("%w: worker ID %d; the layout has worker IDs 0 to %d", coord.ErrInvalid, workerID, ns.meta.Capacity-1)
		}
		v, err := c.look(ctx, workerID)
		if err != nil {
			return nil, nil, err
		}
		s := v.slot
		switch {
		case s.Retired && v.ownRev != 0:
			return nil, nil, errDone
		case !s.Retired: // otherwise its owner key is gone, and is written again
			s = s.Withdrawn(ns.meta, workerID, c.now())
		}
		then, err := c.slotWrites(s)
		if err != nil {
			return nil, nil, err
		}
		// An owner key without a lease is there for ever.
		owner, err := protocol.Encode(ownerRecord{Version: protocol.Version, Renewed: s.Renewed})
		then = append(then, clientv3.OpPut(c.keys.owner(workerID), owner))
		return []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(c.keys.slot(workerID)), "=", v.slotRev)}, then, err
	})
}

// errDone says that there is nothing to change.
var errDone = errors.New("done already")

// admin makes a change to the namespace: plan gets what is stored and returns what
// to compare, beyond the namespace's own record, and what to write. It is called
// again if something changed meanwhile, and while it cannot tell whose clock is right.
func (c *Coordinator) admin(ctx context.Context, what string, plan func(context.Context, namespaceState) ([]clientv3.Cmp, []clientv3.Op, error)) error {
	return c.do(ctx, what, func(ctx context.Context) error {
		for n := 0; ; n++ {
			done, err := c.change(ctx, plan)
			if done || err != nil && !undecided(err) {
				return err
			}
			if ended := lifetime.Pause(ctx, n); ended != nil {
				return errors.Join(err, ended)
			}
		}
	})
}

// undecided reports whether err says that it is not known yet whose clock is right.
func undecided(err error) bool {
	skew, ok := errors.AsType[*coord.ClockSkewError](err)
	return ok && !skew.Until.IsZero()
}

// change makes one attempt at a change; see admin.
func (c *Coordinator) change(ctx context.Context, plan func(context.Context, namespaceState) ([]clientv3.Cmp, []clientv3.Op, error)) (done bool, err error) {
	ns, err := c.readNamespace(ctx)
	if err != nil {
		return false, err
	}
	compare, then, err := plan(ctx, ns)
	switch {
	case errors.Is(err, errDone):
		return true, nil
	case err != nil:
		return false, err
	}
	compare = append(compare, clientv3.Compare(clientv3.ModRevision(c.keys.meta()), "=", ns.metaRev))
	resp, err := c.propose(ctx, compare, then, nil)
	return err == nil && resp.Succeeded, err
}

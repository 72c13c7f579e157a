package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

// Init implements [coord.Admin]. With etcd, a namespace need not be declared before
// it is used: one that was never seen is taken to be new.
func (c *Coordinator) Init(ctx context.Context, s coord.Space) error {
	meta := record.NewMeta(s)
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
		meta.Floor = ns.meta.Floor // a floor is never lowered
		value, err := record.Encode(meta)
		none := func(folder string) clientv3.Cmp {
			return clientv3.Compare(clientv3.CreateRevision(folder), "=", 0).WithPrefix()
		}
		return []clientv3.Cmp{none(c.keys.slots()), none(c.keys.owners())}, []clientv3.Op{
			clientv3.OpPut(c.keys.meta(), value),
			clientv3.OpPut(c.keys.cluster(), clusterName(ns.header.GetClusterId())),
		}, err
	})
}

// Quarantine implements [coord.Admin].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	var floor time.Time
	err := c.admin(ctx, "raise the floor", func(_ context.Context, ns namespaceState) ([]clientv3.Cmp, []clientv3.Op, error) {
		if ns.metaRev == 0 {
			return nil, nil, fmt.Errorf("%w: there is no such namespace; declare it with Init first", coord.ErrInvalid)
		}
		meta := ns.meta
		want := c.ward(meta, 0)
		if !until.IsZero() {
			want = meta.Scale().Tick(until.UnixMicro())
		}
		if want > meta.LastTick {
			return nil, nil, fmt.Errorf("%w: the floor is to be raised to %s; the layout ends at %s", coord.ErrInvalid, until.UTC().Format(time.RFC3339Nano), record.Stamp(meta.Scale().Micro(meta.LastTick)))
		}
		meta.Floor = max(meta.Floor, want)
		floor = record.Time(meta.Scale().Micro(meta.Floor))
		value, err := record.Encode(meta)
		return nil, []clientv3.Op{clientv3.OpPut(c.keys.meta(), value)}, err
	})
	if err != nil {
		return time.Time{}, err
	}
	return floor, nil
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
		if v.slot.Retired {
			return nil, nil, errDone
		}
		s := v.slot.Withdrawn(ns.meta, workerID, c.now())
		then, err := c.slotWrites(s)
		if err != nil {
			return nil, nil, err
		}
		// An owner key without a lease is there for ever.
		owner, err := record.Encode(ownerRecord{Version: record.Version, Renewed: s.Renewed})
		then = append(then, clientv3.OpPut(c.keys.owner(workerID), owner))
		return []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(c.keys.slot(workerID)), "=", v.slotRev)}, then, err
	})
}

// errDone says that there is nothing to change.
var errDone = errors.New("done already")

// admin makes a change to the namespace: plan gets what is stored and returns what
// to compare, beyond the namespace's own record, and what to write. It is called
// again if something changed meanwhile.
func (c *Coordinator) admin(ctx context.Context, what string, plan func(context.Context, namespaceState) ([]clientv3.Cmp, []clientv3.Op, error)) error {
	return c.do(ctx, what, func(ctx context.Context) error {
		for ctx.Err() == nil {
			ns, err := c.readNamespace(ctx)
			if err != nil {
				return err
			}
			compare, then, err := plan(ctx, ns)
			switch {
			case errors.Is(err, errDone):
				return nil
			case err != nil:
				return err
			}
			compare = append(compare, clientv3.Compare(clientv3.ModRevision(c.keys.meta()), "=", ns.metaRev))
			resp, err := c.propose(ctx, compare, then, nil)
			if err != nil || resp.Succeeded {
				return err
			}
		}
		return ctx.Err()
	})
}

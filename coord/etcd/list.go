package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// List implements [coord.Lister].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	var slots []coord.Slot
	var unreadable []error
	err := c.do(ctx, "list the worker IDs", func(ctx context.Context) error {
		resp, err := c.fetch(ctx,
			clientv3.OpGet(c.keys.meta()),
			clientv3.OpGet(c.keys.owners(), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
			clientv3.OpGet(c.keys.slots(), clientv3.WithPrefix()))
		if err != nil {
			return err
		}
		slots, unreadable, err = c.listed(resp)
		return err
	})
	return slots, errors.Join(append([]error{err}, unreadable...)...)
}

// Inspect implements [coord.Inspector].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	var n coord.Namespace
	err := c.do(ctx, "look at the namespace", func(ctx context.Context) error {
		resp, err := c.fetch(ctx, clientv3.OpGet(c.keys.meta()))
		if err != nil {
			return err
		}
		meta, rev, err := c.metaOf(resp, 0)
		if err == nil && rev != 0 {
			n = meta.Inspected()
		}
		return err
	})
	return n, err
}

// listed reads the answer to what List asks.
func (c *Coordinator) listed(resp *reply) (slots []coord.Slot, unreadable []error, _ error) {
	meta, rev, err := c.metaOf(resp, 0)
	if err != nil {
		return nil, nil, err
	}
	records := rangeOf(resp, 2).GetKvs()
	if rev == 0 {
		if len(records) > 0 {
			err = damaged(c.keys.meta(), errors.New("the key is missing and there are slots"))
		}
		return nil, nil, err
	}
	owners := map[int]*mvccpb.KeyValue{}
	for _, kv := range rangeOf(resp, 1).GetKvs() {
		id, err := workerOf(c.keys.owners(), string(kv.Key))
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		owners[id] = kv
	}
	for _, kv := range records {
		id, err := workerOf(c.keys.slots(), string(kv.Key))
		var s protocol.Slot
		if err == nil {
			s, _, err = c.slotOf(id, kv)
		}
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("etcd: %w", err))
			continue
		}
		slots = append(slots, s.Listed(meta, owners[id] != nil))
	}
	return slots, unreadable, nil
}

package etcd

import (
	"bytes"
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/protocol"
)

// commit is one transaction that makes a change.
type commit struct {
	*session
	change protocol.Change
	worker int // that it is about; -1: none
	lease  clientv3.LeaseID
	slot   string // what is stored for the slot
	alive  chan error
}

// Commit implements [protocol.Session]: one transaction, and a keep-alive of the lease at
// the same time.
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	c := &commit{session: s, change: change, worker: -1}
	switch {
	case change.Slot != nil:
		c.worker = change.Slot.Worker
	case change.Before.Slot.There():
		c.worker = change.Before.Slot.Record.Worker
	}
	if change.Owner == protocol.OwnerTaken {
		lease, err := s.needLease(ctx, change.Slot.Lease())
		if err != nil {
			return protocol.Outcome{}, err
		}
		c.lease = lease
	}
	then, err := c.writes()
	if err != nil {
		return protocol.Outcome{}, err
	}
	keep, cancel := context.WithCancel(ctx)
	defer cancel()
	c.keepAlive(keep)
	c.sending(true)
	resp, err := s.propose(ctx, c.compares(), then, c.reads())
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		s.forget(c.lease) // the lease is over, and the owner key with it
		return protocol.Outcome{}, nil
	case err != nil:
		return protocol.Outcome{}, err
	}
	c.sending(resp.again)
	if !resp.Succeeded {
		return c.conflict(resp)
	}
	out := protocol.Outcome{Position: resp.position(true), Done: true, Now: c.view(resp)}
	out.Lapsed = c.lapsed(ctx)
	c.tidy(ctx)
	return out, nil
}

// sending notes whether a transaction that puts an owner key on the session's lease may be
// done of which that is not known.
func (c *commit) sending(sent bool) {
	if c.change.Owner != protocol.OwnerTaken {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.lease == c.lease {
		c.sent = sent
	}
}

// compares are the conditions: what is stored is as it was read. Revisions are enough for
// as long as etcd keeps what it has. After a loss they come again, for other contents:
// docs/guarantees.md, S9. So values are compared as well.
func (c *commit) compares() []clientv3.Cmp {
	k, before := c.keys, c.change.Before
	cmps := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(k.meta()), "=", before.Meta.Version)}
	if before.Meta.There() {
		cmps = append(cmps, clientv3.Compare(clientv3.Value(k.meta()), "=", string(before.Meta.Raw)))
	}
	if c.worker >= 0 {
		cmps = append(cmps,
			clientv3.Compare(clientv3.CreateRevision(k.owner(c.worker)), "=", ownerOf(before).made),
			clientv3.Compare(clientv3.ModRevision(k.slot(c.worker)), "=", before.Slot.Version))
		if before.Slot.There() {
			cmps = append(cmps, clientv3.Compare(clientv3.Value(k.slot(c.worker)), "=", string(before.Slot.Raw)))
		}
	}
	if c.change.Owner == protocol.OwnerTaken && c.change.Token != c.change.Replaced {
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(k.token(c.change.Token)), "=", 0))
	}
	if c.change.Unused {
		for _, folder := range []string{k.slots(), k.owners()} {
			cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(folder), "=", 0).WithPrefix())
		}
	}
	return cmps
}

// writes are the operations that make the change; that of the slot comes first.
func (c *commit) writes() (ops []clientv3.Op, err error) {
	k, change := c.keys, c.change
	put := func(key string, r protocol.Record, opts ...clientv3.OpOption) string {
		value, encodeErr := protocol.Encode(r)
		err = errors.Join(err, encodeErr)
		ops = append(ops, clientv3.OpPut(key, value, opts...))
		return value
	}
	if change.Slot != nil {
		c.slot = put(k.slot(c.worker), *change.Slot, clientv3.WithPrevKV()) // for madeAt
		if change.Identity != "" {
			ops = append(ops, clientv3.OpPut(k.identity(change.Identity), c.slot)) // it always changes together with the slot
		}
	}
	switch change.Owner {
	case protocol.OwnerStays:
		if lease := ownerOf(change.Before).lease; change.Slot != nil && lease != 0 {
			put(k.owner(c.worker), protocol.MarkOf(*change.Slot), clientv3.WithLease(lease))
		}
	case protocol.OwnerTaken:
		put(k.owner(c.worker), protocol.MarkOf(*change.Slot), clientv3.WithLease(c.lease))
		put(k.token(change.Token), tokenRecord{Version: protocol.Version, Worker: c.worker}, clientv3.WithLease(c.lease))
		if change.Replaced != "" && change.Replaced != change.Token {
			ops = append(ops, clientv3.OpDelete(k.token(change.Replaced)))
		}
	case protocol.OwnerFreed:
		ops = append(ops, clientv3.OpDelete(k.owner(c.worker)), clientv3.OpDelete(k.token(change.Token)))
	case protocol.OwnerForever: // a key without a lease
		renewed := change.Before.Slot.Record.Renewed
		if change.Slot != nil {
			renewed = change.Slot.Renewed
		}
		put(k.owner(c.worker), protocol.Mark{Version: protocol.Version, Renewed: renewed})
	}
	if change.Meta != nil {
		put(k.meta(), *change.Meta)
	}
	if change.Settle {
		ops = append(ops, clientv3.OpPut(k.cluster(), c.cluster()))
	}
	return ops, err
}

// reads are the operations that tell what is in the way.
func (c *commit) reads() []clientv3.Op {
	if c.worker < 0 {
		return []clientv3.Op{clientv3.OpGet(c.keys.meta())}
	}
	ops := c.gets(c.worker)
	if c.change.Owner == protocol.OwnerTaken && c.change.Token != c.change.Replaced {
		ops = append(ops, clientv3.OpGet(c.keys.token(c.change.Token)))
	}
	return ops
}

// conflict says what is in the way.
func (c *commit) conflict(resp *reply) (protocol.Outcome, error) {
	out := protocol.Outcome{Position: resp.position(false), Repeated: resp.again}
	if c.worker < 0 {
		return out, nil
	}
	v, err := c.viewFrom(c.worker, resp)
	if err != nil {
		return out, err
	}
	out.Now = v
	if one(resp, 3) == nil && v.Meta.Version == c.change.Before.Meta.Version && bytes.Equal(v.Meta.Raw, c.change.Before.Meta.Raw) {
		out.Conflict = protocol.ConflictSlot
	}
	return out, nil
}

// view is what is stored after the change.
func (c *commit) view(resp *reply) *protocol.View {
	before, rev := c.change.Before, resp.Header.GetRevision()
	v := &protocol.View{Position: resp.position(true), Meta: before.Meta, Slot: before.Slot, Owned: before.Owned, Lease: before.Lease}
	if c.change.Meta != nil {
		v.Meta = protocol.Entry[protocol.Meta]{Record: *c.change.Meta, Made: before.Meta.Made, Version: rev}
		if raw, err := protocol.Encode(v.Meta.Record); err == nil {
			v.Meta.Raw = []byte(raw)
		}
	}
	if c.change.Slot != nil {
		v.Slot = protocol.Entry[protocol.Slot]{Record: *c.change.Slot, Raw: []byte(c.slot), Made: madeAt(resp), Version: rev}
	}
	switch c.change.Owner {
	case protocol.OwnerTaken:
		v.Owned = true
		made := rev
		if before.Owned {
			made = ownerOf(before).made
		}
		v.Lease = ownerKey{made, c.lease}
		c.forget(c.lease)
	case protocol.OwnerFreed:
		v.Owned, v.Lease = false, nil
	}
	return v
}

// keepAlive begins to keep the lease alive that the owner key is on.
func (c *commit) keepAlive(ctx context.Context) {
	lease := ownerOf(c.change.Before).lease
	if c.change.Owner != protocol.OwnerStays || c.change.Slot == nil || lease == 0 {
		return
	}
	alive := make(chan error, 1)
	if c.life.Spawn(func() { alive <- c.session.keepAlive(ctx, lease) }) {
		c.alive = alive
	}
}

// lapsed waits for what keeping the lease alive has come to, for half of the time that is
// left: the holder is to learn soon that its window was extended. It reports whether the
// lease is over. If the outcome is unknown, the next renewal tries again.
func (c *commit) lapsed(ctx context.Context) bool {
	if c.alive == nil {
		return false
	}
	late := time.NewTimer(timeLeft(ctx) / 2)
	defer late.Stop()
	select {
	case err := <-c.alive:
		return errors.Is(err, rpctypes.ErrLeaseNotFound)
	case <-late.C:
		return false
	}
}

// tidy ends the lease of what was given back. If that fails, it ends by itself.
func (c *commit) tidy(ctx context.Context) {
	lease := ownerOf(c.change.Before).lease
	if c.change.Owner != protocol.OwnerFreed || lease == 0 || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	_, _ = c.client.Revoke(ctx, lease)
}

// Watch implements [protocol.Session].
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	pause := time.NewTicker(rewatch)
	defer pause.Stop()
	for {
		if s.watchOnce(ctx, v) {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
		}
	}
}

// rewatch is the pause before a watch that failed is tried again. It is a hint that
// is at stake, so there is no hurry.
const rewatch = 500 * time.Millisecond

// watchOnce looks at the owner key and then watches it from there. It returns true
// if the key is gone, and false if it could not go on watching: the member has no
// leader, or the revision was compacted away.
func (s *session) watchOnce(ctx context.Context, v *protocol.View) bool {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	key := s.keys.owner(v.Slot.Record.Worker)
	now, err := s.fetch(ctx, clientv3.OpGet(key))
	if err != nil {
		return false
	}
	if kv := one(now, 0); kv == nil || kv.CreateRevision != ownerOf(v).made {
		return true
	}
	for resp := range s.client.Watch(ctx, key, clientv3.WithRev(now.Header.GetRevision()+1), clientv3.WithFilterPut()) {
		if resp.Err() != nil {
			return false
		}
		if len(resp.Events) > 0 {
			return true
		}
	}
	return false
}

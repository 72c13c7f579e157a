package etcd

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// commit is one transaction that makes a change.
type commit struct {
	*session
	change protocol.Change
	worker int    // that it is about; -1: none
	slot   string // what is stored of it before, see encodeSlot
	rest   string
	lease  clientv3.LeaseID // that the owner key is put on; 0: it is not put there
}

// Commit implements [protocol.Session]: one transaction, and a keep-alive of the lease at
// the same time.
func (s *session) Commit(ctx context.Context,
	change protocol.Change,
) (out protocol.Outcome, err error) {
	c := &commit{session: s, change: change, worker: change.Worker()}
	if c.slot, c.rest, err = encodeSlot(change.Before.Slot.Record); err != nil {
		return out, err
	}
	switch {
	case change.Owner == protocol.OwnerTaken:
		c.lease, err = s.needLease(ctx, change.Slot.Lease())
	case change.Owner == protocol.OwnerStays && change.Slot != nil:
		c.lease = ownerOf(change.Before).lease
	}
	if err != nil {
		return out, err
	}
	then, err := c.writes()
	if err != nil {
		return out, err
	}
	keep, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := c.keepAlive(keep)
	c.sending(true)
	resp, err := s.transact(ctx, c.compares(), append(then, c.reads()...), c.reads())
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		s.forget(c.lease) // the lease is over, and the owner key with it
		return out, nil
	case err != nil:
		return out, err
	}
	if c.sending(resp.repeated); resp.done {
		s.forget(c.lease)
	}
	out = protocol.Outcome{Position: resp.position(resp.done), Done: resp.done}
	if out.Now, err = c.view(resp); err != nil {
		return out, err
	}
	out.Now.Position = out.Position
	if !resp.done {
		out.Repeated, out.Conflict = resp.repeated, c.conflict(resp, out.Now)
		return out, nil
	}
	out.Lapsed = lapsed(ctx, alive)
	if id := ownerOf(change.Before).lease; change.Owner == protocol.OwnerFreed && id != 0 {
		s.revoke(ctx, id)
	}
	return out, nil
}

// sending notes whether the session's lease may carry an owner key, by a transaction of
// which that is not known.
func (c *commit) sending(sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != 0 && c.session.lease.id == c.lease {
		c.session.lease.sent = sent
	}
}

// compares are the conditions: what is stored is as it was read. Revisions are enough for
// as long as etcd keeps what it has. After a loss they come again, for other contents:
// docs/guarantees.md, S9. So values are compared as well.
func (c *commit) compares() []clientv3.Cmp {
	k, before := c.keys, c.change.Before
	cmps := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(k.meta()), "=", before.Meta.Version)}
	if before.Meta.There() { //mutant:etcd-meta-value
		cmps = append(cmps, clientv3.Compare(clientv3.Value(k.meta()), "=", string(before.Meta.Raw)))
	}
	if c.worker >= 0 {
		cmps = append(cmps,
			clientv3.Compare(clientv3.CreateRevision(k.owner(c.worker)), "=", ownerOf(before).made),
			clientv3.Compare(clientv3.ModRevision(k.slot(c.worker)), "=", before.Slot.Version))
		if before.Slot.There() {
			cmps = append(cmps,
				clientv3.Compare(clientv3.Value(k.slot(c.worker)), "=", c.slot),
				clientv3.Compare(clientv3.Value(k.holder(c.worker)), "=", c.rest))
		}
	}
	if c.newToken() {
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(k.token(c.change.Token)), "=", 0))
	}
	if c.change.Unused {
		cmps = append(cmps, k.unused()...)
	}
	return cmps
}

// newToken reports whether the change makes a token key.
func (c *commit) newToken() bool {
	return c.change.Owner == protocol.OwnerTaken && c.change.Token != c.change.Replaced
}

// writes are the operations that make the change.
func (c *commit) writes() (ops []clientv3.Op, err error) {
	k, change := c.keys, c.change
	put := func(key string, r protocol.Record, opts ...clientv3.OpOption) {
		value, encodeErr := protocol.Encode(r)
		err = errors.Join(err, encodeErr)
		ops = append(ops, clientv3.OpPut(key, value, opts...))
	}
	if change.Slot != nil {
		slot, rest, err := encodeSlot(*change.Slot)
		if err != nil {
			return nil, err
		}
		ops = append(ops, clientv3.OpPut(k.slot(c.worker), slot))
		if rest != c.rest || !change.Before.Slot.There() {
			ops = append(ops, clientv3.OpPut(k.holder(c.worker), rest))
		}
	}
	if c.lease != 0 {
		put(k.owner(c.worker), protocol.MarkOf(*change.Slot), clientv3.WithLease(c.lease))
	}
	switch change.Owner {
	case protocol.OwnerTaken:
		put(k.token(change.Token), protocol.PointerTo(c.worker), clientv3.WithLease(c.lease))
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
	if change.NoteLineage {
		//mutant:etcd-lineage
		ops = append(ops, clientv3.OpPut(k.cluster(), change.Before.Lineage))
	}
	identities, identityErr := c.identities()
	return append(ops, identities...), errors.Join(err, identityErr)
}

// identities are the operations that note which worker ID the identity of a new grant has,
// unless that is noted already, and that nothing leads from the identity before to it.
func (c *commit) identities() (ops []clientv3.Op, _ error) {
	here, err := protocol.Encode(protocol.PointerTo(c.worker))
	leadsHere := func(key string) []clientv3.Cmp {
		return []clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", here)}
	}
	now, before := c.change.Identities()
	if now != "" {
		key := c.keys.identity(now)
		ops = append(ops, clientv3.OpTxn(leadsHere(key), nil, []clientv3.Op{clientv3.OpPut(key, here)}))
	}
	if before != "" {
		key := c.keys.identity(before)
		ops = append(ops, clientv3.OpTxn(leadsHere(key), []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	return ops, err
}

// reads are the operations that tell what is stored then, and what is in the way.
func (c *commit) reads() []clientv3.Op {
	if c.worker < 0 {
		return []clientv3.Op{clientv3.OpGet(c.keys.meta())}
	}
	ops := c.gets(c.worker)
	if c.newToken() {
		ops = append(ops, clientv3.OpGet(c.keys.token(c.change.Token), clientv3.WithKeysOnly()))
	}
	return ops
}

// view is what is stored then.
func (c *commit) view(resp *reply) (v *protocol.View, err error) {
	if c.worker >= 0 {
		return c.viewFrom(resp)
	}
	v = new(protocol.View)
	v.Meta, err = metaOf(resp.one(0))
	return v, err
}

// conflict says what is in the way.
func (c *commit) conflict(resp *reply, now *protocol.View) protocol.Conflict {
	if c.worker < 0 || c.newToken() && resp.one(4) != nil ||
		now.Meta.Version != c.change.Before.Meta.Version ||
		!bytes.Equal(now.Meta.Raw, c.change.Before.Meta.Raw) {
		return protocol.ConflictElsewhere
	}
	return protocol.ConflictSlot
}

// keepAlive begins to keep the lease alive that the owner key stays on, and returns where
// its outcome will be; nil: there is nothing to do.
func (c *commit) keepAlive(ctx context.Context) <-chan error {
	alive := make(chan error, 1)
	if c.change.Owner != protocol.OwnerStays || c.lease == 0 || !c.life.Spawn(func() {
		alive <- c.session.keepAlive(ctx, c.lease)
	}) {
		return nil
	}
	return alive
}

// lapsed waits for what keeping a lease alive has come to, for half of the time that is
// left: the holder is to learn soon that its window was extended. It reports whether the
// lease is over. If the outcome is unknown, the next renewal tries again.
func lapsed(ctx context.Context, alive <-chan error) bool {
	if alive == nil {
		return false
	}
	halfway := time.NewTimer(timeLeft(ctx) / 2)
	defer halfway.Stop()
	select {
	case err := <-alive:
		return errors.Is(err, rpctypes.ErrLeaseNotFound)
	case <-halfway.C:
		return false
	}
}

// Watch implements [protocol.Session].
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for !s.watchOnce(ctx, v) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(rewatch):
		}
	}
	return ctx.Err() == nil
}

// rewatch is the pause before a watch that failed is tried again. It is a hint that
// is at stake, so there is no hurry.
const rewatch = 500 * time.Millisecond

// watchOnce looks at the owner key and then watches it from there. It returns true
// if the key is gone or on no lease any more, and false if it could not go on watching: the member
// has no leader, or the revision was compacted away.
func (s *session) watchOnce(ctx context.Context, v *protocol.View) bool {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	key := s.keys.owner(v.Slot.Record.Worker)
	now, err := s.fetch(ctx, clientv3.OpGet(key))
	if err != nil {
		return false
	}
	//mutant:etcd-retired
	if kv := now.one(0); kv == nil || kv.CreateRevision != ownerOf(v).made || kv.Lease == 0 {
		return true
	}
	for resp := range s.client.Watch(ctx, key, clientv3.WithRev(now.header.GetRevision()+1)) {
		if resp.Err() != nil {
			return false
		}
		if slices.ContainsFunc(resp.Events, unleased) {
			return true
		}
	}
	return false
}

// WatchFree implements [protocol.FreeWatcher].
func (s *session) WatchFree(ctx context.Context, share coord.Range) bool {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	first := s.keys.owner(share.First)
	owners := clientv3.WithRange(s.keys.owner(share.First + share.Count))
	now, err := s.fetch(ctx, clientv3.OpGet(first, owners, clientv3.WithCountOnly()))
	if err != nil {
		return false
	}
	if now.reads[0].GetCount() < int64(share.Count) {
		return true
	}
	for resp := range s.client.Watch(ctx, first, owners, clientv3.WithFilterPut(),
		clientv3.WithRev(now.header.GetRevision()+1)) {
		if resp.Err() != nil {
			return false
		}
		if len(resp.Events) > 0 {
			return true
		}
	}
	return false
}

// unleased reports whether an owner key is on no lease after an event. A renewal writes it
// with its lease, who retires the worker ID without one, and a key that is deleted has none.
func unleased(e *clientv3.Event) bool { return e.Kv.Lease == 0 } //mutant:etcd-renewal-hint

package zk

import (
	"cmp"
	"context"
	"slices"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// commit is one transaction that makes a change.
type commit struct {
	*session
	change protocol.Change
	worker int // that it is about; -1: none
	ops    []op
	now    *protocol.View // what is stored after it
}

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context,
	change protocol.Change,
) (out protocol.Outcome, _ error) {
	before := change.Before
	c := &commit{session: s, change: change, worker: change.Worker(), now: &protocol.View{
		Meta: before.Meta, Slot: before.Slot, Owned: before.Owned, Lease: before.Lease,
	}}
	if err := c.plan(ctx); err != nil {
		return out, err
	}
	failed, err := s.write(ctx, c.ops)
	switch {
	case err == nil:
		if change.Owner == protocol.OwnerTaken {
			s.held.Store(true)
		}
		return protocol.Outcome{Done: true, Now: c.now}, nil
	case failed == nil || !is(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion,
		client.ErrNotEmpty):
		return out, err
	}
	if _, ok := failed.request.(*client.CreateRequest); ok && is(err, client.ErrNoNode) {
		return out, damaged(failed.guard, errMissing)
	}
	if node := c.registered.Load(); node != nil && failed.path == node.path { //mutant:zk-deleted
		c.registered.Store(nil) // an operator has deleted it
	}
	if failed.path == c.nodes.slot(c.worker) || failed.path == c.nodes.owner(c.worker) {
		out.Conflict = protocol.ConflictSlot
	}
	return out, nil
}

// plan makes the operations, and what is stored after them.
func (c *commit) plan(ctx context.Context) error {
	n, change, before := c.nodes, c.change, c.change.Before
	if change.Meta == nil {
		c.ops = append(c.ops, check(n.meta(), before.Meta.Version))
	} else if err := put(c, n.meta(), &c.now.Meta, *change.Meta); err != nil {
		return err
	}
	if change.Unused {
		// What has children cannot be deleted.
		for _, at := range []string{n.slots(), n.owners()} {
			c.ops = append(c.ops, remove(at, -1), c.create(at, nil, 0))
		}
	}
	if change.Slot != nil {
		if err := put(c, n.slot(c.worker), &c.now.Slot, *change.Slot); err != nil {
			return err
		}
	}
	worker, err := protocol.Encode(protocol.PointerTo(c.worker))
	if err != nil {
		return err
	}
	// After the slot: if that has changed, this has, too.
	c.own([]byte(worker))
	if err := c.showGrant(ctx); err != nil {
		return err
	}
	c.noteIdentity([]byte(worker))
	return c.forgetIdentity(ctx)
}

// put replaces a record, or makes it.
func put[R protocol.Record](c *commit, path string, e *protocol.Entry[R], next R) error {
	value, err := protocol.Encode(next)
	if err != nil {
		return err
	}
	if len(value) > longestValue {
		return invalid.Errorf("node %s would have %d bytes, and %d are allowed; choose a shorter "+
			"Request.Holder", path, len(value), longestValue)
	}
	now := protocol.Entry[R]{Record: next, Raw: []byte(value), Version: e.Version + 1, Made: e.Made}
	if e.There() {
		c.ops = append(c.ops, replace(path, now.Raw, e.Version))
	} else {
		now.Version, now.Made = 0, protocol.MadeUnknown
		c.ops = append(c.ops, c.create(path, now.Raw, 0))
	}
	*e = now
	return nil
}

// own makes the operations that change the ephemeral nodes of a holder. Versions come again
// where writes were lost, and tokens do not: so a renewal asks for the node of its token.
func (c *commit) own(worker []byte) {
	n, change := c.nodes, c.change
	path := n.owner(c.worker)
	if change.Owner == protocol.OwnerStays {
		if change.Slot != nil {
			c.ops = append(c.ops, check(path, -1), check(n.token(change.Slot.Token), -1)) //mutant:zk-token
		}
		return
	}
	if change.Before.Owned {
		c.ops = append(c.ops, remove(path, -1))
	}
	if old := cmp.Or(change.Replaced, change.Token); ownerOf(change.Before).token {
		c.ops = append(c.ops, remove(n.token(old), -1))
	}
	c.now.Owned, c.now.Lease = change.Owner != protocol.OwnerFreed, nil
	switch change.Owner {
	case protocol.OwnerTaken:
		c.now.Lease = ownerNode{session: c.id.Load(), token: true}
		c.ops = append(c.ops,
			c.create(path, nil, client.FlagEphemeral),
			c.create(n.token(change.Token), worker, client.FlagEphemeral))
	case protocol.OwnerForever: // a node that is not ephemeral
		c.ops = append(c.ops, c.create(path, nil, 0))
	}
}

// noteIdentity notes which worker ID the identity of a new grant has.
func (c *commit) noteIdentity(worker []byte) {
	identity, _ := c.change.Identities()
	if identity == "" {
		return
	}
	path := c.nodes.identity(identity)
	switch last := c.identity.Load(); {
	case last == nil || !last.There():
		c.ops = append(c.ops, c.create(path, worker, 0))
	case last.Record.Worker != c.worker:
		c.ops = append(c.ops, replace(path, worker, last.Version))
	}
}

// forgetIdentity deletes what leads from the identity that had the worker ID before to it. It
// may lead elsewhere by now, which costs a look. What cannot be read is left alone.
func (c *commit) forgetIdentity(ctx context.Context) error {
	_, before := c.change.Identities()
	if before == "" {
		return nil
	}
	path := c.nodes.identity(before)
	var last protocol.Entry[protocol.Pointer]
	err := c.together(ctx, record(c.store, path, &last))
	if is(err, coord.ErrInvalid) {
		return nil
	}
	if err == nil && last.There() && last.Record.Worker == c.worker {
		c.ops = append(c.ops, remove(path, last.Version))
	}
	return err
}

// write makes a transaction. If a server refuses it, failed is the operation that is to blame;
// otherwise, if there is an error, it is nil: what became of the transaction is not known.
func (s *session) write(ctx context.Context, ops []op) (failed *op, err error) {
	var requests []any
	for _, o := range ops {
		requests = append(requests, o.request)
	}
	var blame *op
	err = s.together(ctx, func(c *client.Conn) error {
		sent := lifetime.Now()
		results, err := c.Multi(requests...)
		for i, one := range results {
			switch {
			case one.Error != nil:
				blame = &ops[i]
				return s.refused(blame.guard, err)
			case err == nil && one.Stat != nil:
				s.tick(one.Stat.Mtime, sent)
			}
		}
		return err
	})
	if definite(err) {
		failed = blame
	}
	return failed, err
}

// Watch implements [protocol.Session]: the lease is gone if the session has ended or the
// owner node is deleted. A watch ends with whatever happens to the node, and with the
// connection if that takes the answer along; then the servers are asked again.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for {
		var stat *client.Stat
		var events <-chan client.Event
		err := s.together(ctx, func(c *client.Conn) (err error) {
			_, stat, events, err = c.ExistsW(s.nodes.owner(v.Slot.Record.Worker))
			return err
		})
		switch {
		case s.Over() != nil:
			return true
		case ctx.Err() != nil || definite(err):
			return false
		case err != nil:
			//mutant:zk-watch
			continue // there will be another connection
		case stat.EphemeralOwner == 0:
			return true // it is gone, or the worker ID was retired meanwhile
		}
		select {
		case e := <-events:
			if e.Type == client.EventNodeDeleted {
				return true
			}
		case <-s.ended.Done():
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// WatchFree implements [protocol.FreeWatcher].
func (s *session) WatchFree(ctx context.Context, share coord.Range) bool {
	for {
		var owners []string
		var events <-chan client.Event
		err := s.together(ctx, func(c *client.Conn) (err error) {
			owners, _, events, err = c.ChildrenW(s.nodes.owners())
			return err
		})
		if err != nil {
			return false
		}
		held, _ := workersOf(s.nodes.owners(), owners)
		if len(within(held, share)) < share.Count {
			return true
		}
		select {
		case <-events:
		case <-s.ended.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// within returns the worker IDs that are in a share.
func within(ids []int, share coord.Range) []int {
	return slices.DeleteFunc(ids, func(id int) bool {
		return share.Count != 0 && (id < share.First || id-share.First >= share.Count)
	})
}

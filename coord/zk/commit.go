package zk

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// commit is one transaction that makes a change.
type commit struct {
	*session
	change protocol.Change
	worker int // that it is about; -1: none
	ops    []any
	slot   []byte // what is stored for the slot
	meta   []byte // and for the namespace
}

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	out, err := s.commit(ctx, change)
	return out, s.explain(ctx, err)
}

func (s *session) commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	c := &commit{session: s, change: change, worker: change.Worker(), meta: change.Before.Meta.Raw, slot: change.Before.Slot.Raw}
	if err := c.plan(); err != nil {
		return protocol.Outcome{}, err
	}
	if err := c.forgetIdentity(ctx); err != nil {
		return protocol.Outcome{}, err
	}
	zxid, failed, err := s.write(ctx, c.ops)
	switch {
	case err == nil:
		return protocol.Outcome{Position: protocol.Position{Number: zxid, Wrote: true}, Done: true, Now: c.view()}, nil
	case failed < 0:
		return protocol.Outcome{}, err
	case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion, client.ErrNotEmpty):
		if create, ok := c.ops[failed].(*client.CreateRequest); ok && definite(err, client.ErrNoNode) {
			return protocol.Outcome{}, misfit(create, err) // everything else of the namespace is there
		}
		return c.conflict(c.ops[failed], err), nil
	}
	return protocol.Outcome{}, err
}

// plan makes the operations.
func (c *commit) plan() error {
	n, change := c.nodes, c.change
	if change.Meta == nil {
		c.ops = append(c.ops, unchanged(n.meta(), change.Before.Meta.Raw))
	} else if err := c.putMeta(); err != nil {
		return err
	}
	if change.Unused {
		// What has children cannot be deleted.
		for _, at := range []string{n.slots(), n.owners()} {
			c.ops = append(c.ops, &client.DeleteRequest{Path: at, Version: -1}, &client.CreateRequest{Path: at, Acl: c.acl})
		}
	}
	if change.Slot != nil {
		if err := c.putSlot(); err != nil {
			return err
		}
	}
	worker, err := protocol.Encode(protocol.PointerTo(c.worker))
	if err != nil {
		return err
	}
	// After the slot: if that has changed, this has, too.
	c.own([]byte(worker))
	c.noteIdentity([]byte(worker))
	return nil
}

// putSlot replaces a slot, or makes it.
func (c *commit) putSlot() error {
	slot := c.change.Slot
	value, err := protocol.Encode(*slot)
	if err != nil {
		return err
	}
	if len(value) > sendRoom/2 {
		return fmt.Errorf("%w: the slot would have %d bytes, and %d are allowed; Request.Holder has %d", coord.ErrInvalid, len(value), sendRoom/2, len(slot.Holder))
	}
	c.slot = []byte(value)
	path := c.nodes.slot(c.worker)
	if old := c.change.Before.Slot; old.There() {
		c.ops = append(c.ops, c.replaces(path, old.Raw, c.slot, int32(old.Version))...)
	} else {
		c.ops = append(c.ops, c.creates(path, c.slot)...)
		// The answer tells the number of the transaction with what it changes, not with what it makes.
		c.ops = append(c.ops, &client.SetDataRequest{Path: c.nodes.clock(), Version: -1})
	}
	return nil
}

// putMeta replaces the namespace's record.
func (c *commit) putMeta() error {
	value, err := protocol.Encode(*c.change.Meta)
	if err != nil {
		return err
	}
	c.meta = []byte(value)
	old := c.change.Before.Meta
	c.ops = append(c.ops, c.replaces(c.nodes.meta(), old.Raw, c.meta, int32(old.Version))...)
	return nil
}

// own makes the operations that change the ephemeral nodes of a holder.
func (c *commit) own(worker []byte) {
	n, change := c.nodes, c.change
	path := n.owner(c.worker)
	if change.Owner == protocol.OwnerStays {
		if change.Slot != nil {
			c.ops = append(c.ops, &client.CheckVersionRequest{Path: path, Version: 0})
		}
		return
	}
	if change.Before.Owned {
		c.ops = append(c.ops, &client.DeleteRequest{Path: path, Version: -1})
	}
	if old := cmp.Or(change.Replaced, change.Token); ownerOf(change.Before).token {
		c.ops = append(c.ops, &client.DeleteRequest{Path: n.token(old), Version: -1})
	}
	switch change.Owner {
	case protocol.OwnerTaken:
		c.ops = append(c.ops,
			&client.CreateRequest{Path: path, Acl: c.acl, Flags: client.FlagEphemeral},
			&client.CreateRequest{Path: n.token(change.Token), Data: worker, Acl: c.acl, Flags: client.FlagEphemeral})
	case protocol.OwnerForever: // a node that is not ephemeral
		c.ops = append(c.ops, &client.CreateRequest{Path: path, Acl: c.acl})
	}
}

// noteIdentity notes which worker ID the identity of a new grant has.
func (c *commit) noteIdentity(worker []byte) {
	identity, _ := c.change.Identities()
	if identity == "" {
		return
	}
	last := c.identity.Load()
	there := last != nil && last.There()
	path := c.nodes.identity(identity)
	switch {
	case !there:
		c.ops = append(c.ops, &client.CreateRequest{Path: path, Data: worker, Acl: c.acl})
	case last.Record.Worker != c.worker:
		c.ops = append(c.ops, &client.SetDataRequest{Path: path, Data: worker, Version: int32(last.Version)})
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
	replies, err := c.together(ctx, get(path))
	if err != nil {
		return err
	}
	if last, err := read[protocol.Pointer](path, replies[0]); err == nil && last.There() && last.Record.Worker == c.worker {
		c.ops = append(c.ops, &client.DeleteRequest{Path: path, Version: int32(last.Version)})
	}
	return nil
}

// conflict says what the transaction was refused for.
func (c *commit) conflict(op any, why error) protocol.Outcome {
	out := protocol.Outcome{}
	at := nodeOf(op)
	if slot := c.nodes.slot(c.worker); at == slot || strings.HasPrefix(at, slot+"/") || at == c.nodes.owner(c.worker) {
		out.Conflict = protocol.ConflictSlot
	}
	if !definite(why, client.ErrNotEmpty) {
		out.Damage = misfit(op, why)
	}
	return out
}

// view is what is stored after the change.
func (c *commit) view() *protocol.View {
	before, change := c.change.Before, c.change
	v := &protocol.View{Meta: before.Meta, Slot: before.Slot, Owned: before.Owned, Lease: before.Lease}
	if change.Meta != nil {
		v.Meta = then(before.Meta, *change.Meta, c.meta)
	}
	if change.Slot != nil {
		v.Slot = then(before.Slot, *change.Slot, c.slot)
	}
	switch change.Owner {
	case protocol.OwnerTaken:
		v.Owned, v.Lease = true, ownerNode{session: c.ident(), token: true}
	case protocol.OwnerFreed:
		v.Owned, v.Lease = false, nil
	case protocol.OwnerForever:
		v.Owned, v.Lease = true, nil
	}
	return v
}

// then is what is stored after a write that replaced old.
func then[R protocol.Record](old protocol.Entry[R], rec R, raw []byte) protocol.Entry[R] {
	next := protocol.Entry[R]{Record: rec, Raw: raw, Version: old.Version + 1, Made: old.Made}
	if !old.There() {
		next.Version, next.Made = 0, protocol.MadeUnknown
	}
	return next
}

// write makes a transaction, and returns its number; 0: it is not known. If a server
// refuses it, failed is the operation that is to blame, and otherwise negative: what
// became of it is not known.
func (s *session) write(ctx context.Context, ops []any) (zxid int64, failed int, err error) {
	replies, err := s.together(ctx, multi(ops))
	if err != nil {
		return 0, -1, err
	}
	r := replies[0]
	if r.err != nil {
		for i, one := range r.results {
			if one.Error != nil {
				return 0, i, refusedAt(guardOf(ops[i]), r.err)
			}
		}
		return 0, 0, r.err // which one is to blame was not said
	}
	for _, one := range r.results {
		if one.Stat != nil {
			s.tick(one.Stat.Mtime)
			zxid = one.Stat.Mzxid
		}
	}
	return zxid, 0, nil
}

// Watch implements [protocol.Session]: the lease is gone if the session has ended or the
// owner node is deleted. A watch ends with whatever happens to the node, and with the
// connection if that takes the answer along; then the servers are asked again.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for {
		replies, err := s.together(ctx, watch(s.nodes.owner(v.Slot.Record.Worker)))
		switch {
		case s.ended.Err() != nil:
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			continue // there will be another connection
		case replies[0].err != nil:
			return definite(replies[0].err, client.ErrNoNode)
		case replies[0].stat.EphemeralOwner == 0:
			return true // the worker ID was retired meanwhile
		}
		select {
		case e := <-replies[0].events:
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

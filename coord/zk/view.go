package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// view is what is stored of a worker ID, as it was seen last. The handle of a grant
// is a view: it saves reading, and nothing is decided on it, because every write
// compares it. A view is not changed once others have it.
type view struct {
	era   int64 // of the memory, when it was read
	seen  int64 // when that was, microseconds since 1970
	meta  stored[protocol.Meta]
	slot  stored[protocol.Slot]
	owned bool  // there is an owner node
	owner int64 // its session; 0: it has none, because the worker ID is retired
	token bool  // there is a token node
}

// viewOf returns the view that comes with a grant; nil if it is not this driver's or
// not of this grant.
func viewOf(g coord.Grant) *view {
	v, ok := g.Handle.(*view)
	if !ok || v == nil || v.slot.rec.Worker != g.WorkerID || !v.slot.rec.Holds(g.Token, g.Generation) {
		return nil
	}
	return v
}

// grant returns the last stored piece as a grant.
func (v *view) grant() coord.Grant { return v.slot.rec.Grant(v) }

// look reads what is stored of a worker ID, and of a token if it is not empty. It
// returns an empty view if there is no namespace.
func (c *Coordinator) look(ctx context.Context, s *session, id int, token string) (*view, error) {
	reads := []request{get(c.nodes.meta()), get(c.nodes.slot(id)), exists(c.nodes.owner(id))}
	if token != "" {
		reads = append(reads, exists(c.nodes.token(token)))
	}
	at := c.memory.sight()
	replies, err := c.fetch(ctx, s, reads...)
	v := &view{era: at.era}
	switch {
	case errors.Is(err, errNoNamespace):
		if at.meta != nil {
			c.memory.suspect(at.era, "the namespace is gone", at.read)
		}
		return v, nil
	case err != nil:
		return nil, err
	}
	if v.meta, err = c.metaOf(replies[0]); err != nil {
		return nil, err
	}
	if v.slot, err = c.slotOf(id, replies[1]); err != nil {
		return nil, err
	}
	switch owner := replies[2]; {
	case owner.err == nil:
		v.owned, v.owner = true, owner.stat.EphemeralOwner
	case !definite(owner.err, client.ErrNoNode):
		return nil, owner.err
	}
	for _, r := range replies[3:] {
		if v.token = r.err == nil; !v.token && !definite(r.err, client.ErrNoNode) {
			return nil, r.err
		}
	}
	v.seen = s.time()
	c.memory.know(at, v.meta, v.seen)
	return v, nil
}

// slotOf decodes a slot.
func (c *Coordinator) slotOf(id int, r reply) (stored[protocol.Slot], error) {
	path := c.nodes.slot(id)
	s, err := read[protocol.Slot](path, r)
	if err == nil && s.there() && s.rec.Worker != id {
		err = damaged(path, fmt.Errorf("worker is %d and the node is that of %d", s.rec.Worker, id))
	}
	return s, err
}

// backward tells what shows, if anything does, that writes were lost between two
// views of one worker ID: a slot is never deleted, no version or generation falls, and
// a generation has one token until it is released, and a window that only grows. Views of two eras tell nothing: that loss was dealt with.
func backward(known, now *view) string {
	switch {
	case known == nil || now == nil || known == now || known.era != now.era:
		return ""
	case !now.slot.there():
		return fmt.Sprintf("the slot of worker ID %d is gone", known.slot.rec.Worker)
	case now.slot.czxid != known.slot.czxid && known.slot.czxid != unknownCzxid:
		return fmt.Sprintf("the slot of worker ID %d was made in transaction %#x, and now it is one that was made in %#x", known.slot.rec.Worker, known.slot.czxid, now.slot.czxid)
	case now.slot.version < known.slot.version:
		return fmt.Sprintf("the version of worker ID %d's slot was %d and is %d", known.slot.rec.Worker, known.slot.version, now.slot.version)
	case now.slot.rec.Generation < known.slot.rec.Generation:
		return fmt.Sprintf("the generation of worker ID %d was %d and is %d", known.slot.rec.Worker, known.slot.rec.Generation, now.slot.rec.Generation)
	case now.slot.rec.Generation > known.slot.rec.Generation || known.slot.rec.Token == "" || now.slot.rec.Token == "":
		return ""
	case now.slot.rec.Token != known.slot.rec.Token:
		return fmt.Sprintf("generation %d of worker ID %d has another token", known.slot.rec.Generation, known.slot.rec.Worker)
	case now.slot.rec.NotAfter < known.slot.rec.NotAfter:
		return fmt.Sprintf("the window of worker ID %d ended at tick %d and ends at %d", known.slot.rec.Worker, known.slot.rec.NotAfter, now.slot.rec.NotAfter)
	}
	return ""
}

// testimony is that of what a view shows.
func (v *view) testimony() testimony { return testimony{v.seen, v.meta.rec.Loss.Nonce} }

// same tells whether two views are of the same state.
func (v *view) same(w *view) bool {
	return v.meta.version == w.meta.version && v.slot.version == w.slot.version && v.owner == w.owner && v.owned == w.owned && v.token == w.token &&
		bytes.Equal(v.meta.raw, w.meta.raw) && bytes.Equal(v.slot.raw, w.slot.raw)
}

// holding are the operations that put a holder's ephemeral nodes there, instead of
// those that another session of the same holder may have left.
func (c *Coordinator) holding(v *view, token string, worker int) ([]any, error) {
	value, err := protocol.Encode(workerRecord{Version: protocol.Version, Worker: worker})
	if err != nil {
		return nil, err
	}
	return append(c.parting(v, token, worker),
		&client.CreateRequest{Path: c.nodes.owner(worker), Acl: c.acl, Flags: client.FlagEphemeral},
		&client.CreateRequest{Path: c.nodes.token(token), Data: []byte(value), Acl: c.acl, Flags: client.FlagEphemeral},
	), nil
}

// parting are the operations that delete a holder's ephemeral nodes.
func (c *Coordinator) parting(v *view, token string, worker int) (ops []any) {
	if v.owned {
		ops = append(ops, &client.DeleteRequest{Path: c.nodes.owner(worker), Version: -1})
	}
	if v.token {
		ops = append(ops, &client.DeleteRequest{Path: c.nodes.token(token), Version: -1})
	}
	return ops
}

// errAgain says that somebody else was faster.
var errAgain = errors.New("what is stored changed meanwhile")

// unclear is the error of a write of which not even reading tells whether it was
// done.
func unclear(write, read error) error {
	if read.Error() == write.Error() {
		return write
	}
	return fmt.Errorf("%w (what became of it is not known: %w)", write, read)
}

// then is what is stored after a write that replaced s.
func (s stored[R]) then(rec R, raw []byte) stored[R] {
	next := stored[R]{rec: rec, raw: raw, version: s.version + 1, czxid: s.czxid}
	if !s.there() {
		next.version, next.czxid = 0, unknownCzxid
	}
	return next
}

// unknownCzxid stands for that of a node that was made just now: the answer to the
// transaction does not tell it.
const unknownCzxid = -1

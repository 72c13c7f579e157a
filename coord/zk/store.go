package zk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync/atomic"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store is the nodes of one namespace as a [protocol.Store].
type store struct {
	servers []string
	login   []byte // the packet that shows credentials; nil: there are none
	nodes   folder
	opts    Options
	log     *slog.Logger
	acl     []client.ACL
	life    *lifetime.Life // of the coordinator
	ticket  atomic.Int64   // the number of the last, see fetch
}

// fetch reads nodes as they are now. It writes the clock first: what follows a write
// in a session is at least as new as the write, on whichever server, while reads
// alone may be old, those after a sync among them. The write also tells the leader's
// time, a number that only grows, and whether the ensemble has lost transactions. Doing
// it twice does no harm, so a broken connection is given another chance.
func (s *session) fetch(ctx context.Context, reads ...request) (fetched, error) {
	for try := 1; ; try++ {
		f, err := s.fetchOnce(ctx, reads)
		if err == nil || try == readTries || !transient(err) || ctx.Err() != nil || s.ended.Err() != nil {
			return f, err
		}
	}
}

// fetched is what a fetch tells.
type fetched struct {
	protocol.Position // of the write, which draws a ticket
	ticket            int64
	replies           []reply
}

// number tells how often the clock was written. Its version has 32 bits and begins again
// after that: the number is the one with these bits that is nearest to the last one.
func (st *store) number(version int32) int64 {
	last := max(st.ticket.Load(), 1<<32) // the first may have any bits, and none is below 0
	n := last + int64(version-int32(last))
	st.ticket.Store(n)
	return n
}

// readTries is how often something is read before its error counts.
const readTries = 3

func (s *session) fetchOnce(ctx context.Context, reads []request) (f fetched, _ error) {
	f.Wrote = true
	requests := append([]request{set(s.nodes.clock(), nil)}, reads...)
	if s.login != nil {
		requests = append(requests, getACL(s.nodes.meta()))
	}
	replies, err := s.together(ctx, requests...)
	if err != nil {
		return f, err
	}
	clock := replies[0]
	switch {
	case definite(clock.err, client.ErrNoNode):
		return f, errNoNamespace
	case clock.err != nil:
		return f, refusedAt(s.nodes.clock(), clock.err)
	case s.login != nil && isOpen(replies[len(replies)-1].acl):
		return f, fmt.Errorf("%w: the namespace was made without a user, and its nodes are open to everybody; user %q would keep those who use it from what it writes: leave user and password out, or use another namespace", coord.ErrInvalid, s.opts.User)
	}
	s.tick(clock.stat.Mtime)
	f.Number, f.ticket, f.replies = clock.stat.Mzxid, s.number(clock.stat.Version-1)+1, replies[1:1+len(reads)]
	return f, nil
}

// isOpen reports whether everybody may write what has this access list.
func isOpen(acl []client.ACL) bool {
	return slices.ContainsFunc(acl, func(a client.ACL) bool { return a.Scheme == "world" && a.Perms&client.PermWrite != 0 })
}

// Survey implements [protocol.Session]. It is one round trip, but for the first in a
// namespace, which makes that.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	sv, err := s.survey(ctx, ask)
	if !errors.Is(err, errNoNamespace) {
		return sv, s.explain(ctx, err)
	}
	if ask.New == nil {
		return &protocol.Survey{Worker: -1, Last: -1}, nil
	}
	made, err := s.makeNamespace(ctx, ask.New)
	if err == nil {
		sv, err = s.survey(ctx, ask)
	}
	switch {
	case errors.Is(err, errNoNamespace):
		err = damaged(s.nodes.clock(), errMissing)
	case err == nil:
		sv.Made = made
	}
	return sv, s.explain(ctx, err)
}

func (s *session) survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	n := s.nodes
	reads := []request{get(n.meta()), children(n.owners()), children(n.slots())}
	if ask.Token != "" {
		reads[2] = get(n.token(ask.Token))
	}
	if ask.Identity != "" {
		reads = append(reads, get(n.identity(ask.Identity)))
	}
	f, err := s.fetch(ctx, reads...)
	if err != nil {
		return nil, err
	}
	replies := f.replies
	sv := &protocol.Survey{
		Position: f.Position, Worker: -1, Last: -1,
		Begin: f.ticket, Server: s.Time(), Unit: time.Millisecond.Microseconds(),
	}
	if sv.Meta, err = s.metaOf(replies[0]); err != nil {
		return nil, err
	}
	if replies[1].err != nil {
		return nil, missing(n.owners(), replies[1].err)
	}
	for _, name := range replies[1].children {
		id, err := workerOf(n.owners(), name)
		if err != nil {
			return nil, err
		}
		if ask.Share.Count == 0 || id >= ask.Share.First && id-ask.Share.First < ask.Share.Count {
			sv.Owned = append(sv.Owned, id)
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: id})
		}
	}
	slices.Sort(sv.Owned)
	if ask.Token == "" {
		if replies[2].err != nil {
			return nil, missing(n.slots(), replies[2].err)
		}
		sv.Slots = len(replies[2].children) + len(sv.Owned)
		return sv, nil
	}
	token, err := read[protocol.Pointer](n.token(ask.Token), replies[2])
	if err != nil {
		return nil, err
	}
	if token.There() {
		sv.Worker = token.Record.Worker
	}
	if ask.Identity != "" {
		identity, err := read[protocol.Pointer](n.identity(ask.Identity), replies[3])
		if err != nil {
			return nil, err
		}
		s.identity.Store(&identity)
		if identity.There() {
			sv.Last = identity.Record.Worker
		}
	}
	return sv, nil
}

// metaOf decodes the namespace's record, which is there if the clock is.
func (st *store) metaOf(r reply) (protocol.Entry[protocol.Meta], error) {
	meta, err := read[protocol.Meta](st.nodes.meta(), r)
	if err == nil && !meta.There() {
		err = damaged(st.nodes.meta(), errMissing)
	}
	return meta, err
}

// slotOf decodes a slot.
func (st *store) slotOf(id int, r reply) (protocol.Entry[protocol.Slot], error) {
	path := st.nodes.slot(id)
	slot, err := read[protocol.Slot](path, r)
	if err == nil && slot.There() && slot.Record.Worker != id {
		err = damaged(path, fmt.Errorf("worker is %d and the node is that of %d", slot.Record.Worker, id))
	}
	return slot, err
}

// makeNamespace makes the nodes of a namespace, all of them or none. That they are
// there already is no error. It reports whether it has made them.
func (s *session) makeNamespace(ctx context.Context, fresh func(now int64) protocol.Meta) (made bool, err error) {
	if err := s.makeRoot(ctx); err != nil {
		return false, err
	}
	value, err := protocol.Encode(fresh(s.Time()))
	if err != nil {
		return false, err
	}
	n := s.nodes
	var ops []any
	for _, at := range []string{n.space, n.clock(), n.slots(), n.owners(), n.tokens(), n.identities()} {
		ops = append(ops, &client.CreateRequest{Path: at, Acl: s.acl})
	}
	_, _, err = s.write(ctx, append(ops, s.creates(n.meta(), []byte(value))...))
	if definite(err, client.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// makeRoot makes the node of all namespaces. Others may add namespaces of theirs. The
// session learns the leader's time, for which there is no clock of the namespace yet: from
// a node that is there for a moment.
func (s *session) makeRoot(ctx context.Context) error {
	acl := s.acl
	if s.opts.User != "" {
		acl = slices.Concat(acl, client.WorldACL(client.PermRead|client.PermCreate))
	}
	moment := s.nodes.moment(rand.Text())
	replies, err := s.together(ctx, create(s.nodes.root, acl), multi([]any{
		&client.CreateRequest{Path: moment, Acl: s.acl, Flags: client.FlagEphemeral}, &client.SetDataRequest{Path: moment},
	}), multi([]any{&client.DeleteRequest{Path: moment, Version: -1}})) // or it goes with the session, for want of rights
	if err != nil {
		return err
	}
	switch err := replies[0].err; {
	case definite(err, client.ErrNoNode):
		return s.noChroot()
	case err != nil && !definite(err, client.ErrNodeExists):
		return refusedAt(path.Dir(s.nodes.root), err)
	case replies[1].err != nil:
		return refusedAt(s.nodes.root, replies[1].err)
	}
	s.tick(replies[1].results[1].Stat.Mtime)
	return nil
}

// ownerNode is what a view knows of an owner node and of the token that leads to it, which
// may be there without each other if somebody has deleted one.
type ownerNode struct {
	session int64 // 0: there is none, or it has none because the worker ID is retired
	token   bool  // there is a token node
}

// ownerOf returns what a view knows of the owner node.
func ownerOf(v *protocol.View) ownerNode {
	o, _ := v.Lease.(ownerNode)
	return o
}

// Holds implements [protocol.Session].
func (s *session) Holds(v *protocol.View) bool { return v.Owned && ownerOf(v).session == s.ident() }

// Look implements [protocol.Session]. The view is empty if there is no namespace.
func (s *session) Look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	v, err := s.look(ctx, worker, token)
	return v, s.explain(ctx, err)
}

func (s *session) look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	n := s.nodes
	reads := []request{get(n.meta()), get(n.slot(worker)), exists(n.owner(worker))}
	if token != "" {
		reads = append(reads, exists(n.token(token)))
	}
	f, err := s.fetch(ctx, reads...)
	v, replies := &protocol.View{}, f.replies
	switch {
	case errors.Is(err, errNoNamespace):
		return v, nil
	case err != nil:
		return nil, err
	}
	v.Position = f.Position
	if v.Meta, err = s.metaOf(replies[0]); err != nil {
		return nil, err
	}
	if v.Slot, err = s.slotOf(worker, replies[1]); err != nil {
		return nil, err
	}
	for _, r := range replies[2:] {
		if r.err != nil && !definite(r.err, client.ErrNoNode) {
			return nil, r.err
		}
	}
	owner := ownerNode{token: token != "" && replies[3].err == nil}
	if v.Owned = replies[2].err == nil; v.Owned {
		owner.session = replies[2].stat.EphemeralOwner
	}
	v.Lease = owner
	return v, nil
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	replies, err := s.together(ctx, s.slots(workers)...)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	probed := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		probed[i].Slot, probed[i].Err = s.slotOf(id, replies[i])
	}
	return probed, nil
}

// slots are requests for slots.
func (st *store) slots(workers []int) []request {
	reads := make([]request, len(workers))
	for i, id := range workers {
		reads[i] = get(st.nodes.slot(id))
	}
	return reads
}

// most is how many slots are read at a time.
const most = 1024

// Leases implements [protocol.Session]. The session of a holder ends no later than its
// TTL after its last sign of life, of which the last renewal is one that is on record.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	some := make([]int, min(len(holders), most))
	for i := range some {
		some[i] = holders[i*len(holders)/len(some)].Worker
	}
	f, err := s.fetch(ctx, s.slots(some)...)
	if err != nil {
		return nil
	}
	var all []protocol.Lease
	for _, r := range f.replies {
		slot, err := read[protocol.Slot]("", r)
		if rec := slot.Record; err == nil && (rec.Retired || rec.Token != "") {
			all = append(all, protocol.Lease{
				Worker: rec.Worker, Mark: fmt.Sprint(rec.Generation, " ", rec.Renewed), Renewed: max(rec.Renewed, 0),
				TTL: rec.Lease(), Left: -1, Retired: rec.Retired,
			})
		}
	}
	return all
}

// List implements [protocol.Session]. ZooKeeper has no way to read many nodes at one
// moment: each slot is as it was at some moment of the call.
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	l, err := s.list(ctx, slots)
	return l, s.explain(ctx, err)
}

func (s *session) list(ctx context.Context, slots bool) (*protocol.Listing, error) {
	n, l := s.nodes, &protocol.Listing{}
	// What follows is as it was a moment ago at the latest. Nothing is written.
	replies, err := s.together(ctx, catchUp(n.root), get(n.meta()), children(n.owners()), children(n.slots()), exists(path.Dir(n.root)))
	if err != nil {
		return nil, err
	}
	replies = replies[1:]
	l.Meta, err = read[protocol.Meta](n.meta(), replies[0])
	switch {
	case err != nil:
		return nil, err
	case definite(replies[3].err, client.ErrNoNode):
		return nil, s.noChroot()
	case !l.Meta.There() && definite(replies[2].err, client.ErrNoNode):
		return l, nil
	case !l.Meta.There():
		_, err := s.metaOf(replies[0])
		return nil, err
	case replies[1].err != nil:
		return nil, missing(n.owners(), replies[1].err)
	case replies[2].err != nil:
		return nil, missing(n.slots(), replies[2].err)
	case !slots:
		return l, nil
	}
	l.Owned, l.Unreadable = workersOf(n.owners(), replies[1].children)
	ids, more := workersOf(n.slots(), replies[2].children)
	l.Unreadable = append(l.Unreadable, more...)
	for part := range slices.Chunk(ids, most) {
		replies, err := s.together(ctx, s.slots(part)...)
		if err != nil {
			return nil, err
		}
		for i, id := range part {
			slot, err := s.slotOf(id, replies[i])
			if err != nil {
				l.Unreadable = append(l.Unreadable, unreadable(err))
				continue
			}
			l.Slots = append(l.Slots, slot.Record)
		}
	}
	return l, nil
}

// workersOf returns the worker IDs that children of a node are about, in ascending order.
func workersOf(path string, names []string) (ids []int, bad []error) {
	for _, name := range names {
		id, err := workerOf(path, name)
		if err != nil {
			bad = append(bad, unreadable(err))
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, bad
}

// unreadable is an error of a listing that has others beside it.
func unreadable(err error) error { return fmt.Errorf("zookeeper: %w", err) }

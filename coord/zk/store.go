package zk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store is the nodes of one namespace as a [protocol.Store].
type store struct {
	servers  []string
	nodes    folder
	opts     Options
	acl      []client.ACL
	life     *lifetime.Life // of the coordinator
	looks    atomic.Int64   // how often the clock was written, see fetch
	forsaken atomic.Int32   // how many sessions nobody uses
}

// newStore returns a store, which has no life yet. The options are resolved.
func newStore(servers []string, namespace string, opts Options) *store {
	st := &store{
		servers: servers, nodes: newFolder(opts.Chroot, namespace), opts: opts,
		acl: client.WorldACL(client.PermAll),
	}
	if opts.Login != nil {
		st.acl = client.AuthACL(client.PermAll)
	}
	return st
}

// readTries is how often something is read before its error counts.
const readTries = 3

// fetch reads nodes as they are now. It writes the clock first: what follows a write
// in a session is at least as new as the write, on whichever server, while reads
// alone may be old, those after a sync among them. The write also tells the leader's
// time, a number that only grows, and whether the ensemble has lost transactions. Doing
// it twice does no harm, so a broken connection is given another chance.
func (s *session) fetch(ctx context.Context, reads ...request) (protocol.Position, error) {
	if s.opts.Login != nil {
		reads = append(reads, s.closed)
	}
	for try := 1; ; try++ {
		at, err := s.fetchOnce(ctx, reads)
		//mutant:zk-tries
		if err == nil || try == readTries || !transient(err) || ctx.Err() != nil || s.Over() != nil {
			return at, err
		}
	}
}

// fetchOnce reads in the same round trip in which it writes, as soon as that was sent.
func (s *session) fetchOnce(ctx context.Context, reads []request) (at protocol.Position, _ error) {
	clock, sent := s.nodes.clock(), make(chan struct{})
	var stat *client.Stat
	var began time.Time
	requests := []request{func(c *client.Conn) (err error) {
		once := sync.OnceFunc(func() { close(sent) })
		defer once()
		s.clockSent.Store(&once)
		began = lifetime.Now()
		stat, err = c.Set(clock, nil, -1)
		return s.refused(clock, err)
	}}
	for _, read := range reads {
		requests = append(requests, func(c *client.Conn) error { <-sent; return read(c) })
	}
	err := s.together(ctx, requests...)
	switch {
	case is(err, client.ErrNoNode):
		return at, errNoNamespace
	case err != nil:
		return at, err
	}
	server := s.tick(stat.Mtime, began)
	// An election gives transactions higher numbers, also after old data were put back. The
	// version of this node has no gaps: that of the next look tells.
	return protocol.Position{
		Number: s.number(stat.Version), Wrote: true, Server: server, //mutant:zk-number
	}, nil
}

// closed is a request whose error says that everybody may write to the namespace.
func (st *store) closed(c *client.Conn) error {
	acl, _, err := c.GetACL(st.nodes.meta())
	if definite(err) {
		return nil
	}
	if slices.ContainsFunc(acl, func(a client.ACL) bool {
		return a.Scheme == "world" && a.Perms&client.PermWrite != 0
	}) {
		return invalid.Errorf("the namespace was made without a user, and its nodes are open to " +
			"everybody, who could not use those that a user makes; leave user and password out, or use " +
			"another namespace")
	}
	return err
}

// number tells how often the clock was written. Its version has 32 bits and begins again
// after that: the number is the one with these bits that is nearest to the last one.
func (st *store) number(version int32) int64 {
	last := max(st.looks.Load(), 1<<32) // the first may have any bits, and none is below 0
	n := last + int64(version-int32(last))
	st.looks.Store(n)
	return n
}

// peek is a survey that writes nothing, not even the clock.
func (s *session) peek(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	n, sv := s.nodes, &protocol.Survey{Worker: -1, Last: -1}
	var owners []string
	err := s.together(ctx, record(s.store, n.meta(), &sv.Meta), func(c *client.Conn) (err error) {
		owners, _, err = c.Children(n.owners())
		if is(err, client.ErrNoNode) {
			return nil // nor is the record there
		}
		return s.refused(n.owners(), err)
	})
	if err != nil {
		return nil, err
	}
	owned, bad := workersOf(n.owners(), owners)
	if len(bad) > 0 {
		return nil, bad[0]
	}
	noteHeld(sv, within(owned, ask.Share))
	return sv, nil
}

// noteHeld notes in a survey that worker IDs are held.
func noteHeld(sv *protocol.Survey, owned []int) {
	sv.Owned = owned
	for _, id := range owned {
		sv.Holders = append(sv.Holders, protocol.Holder{Worker: id})
	}
}

// Survey implements [protocol.Session]. A namespace that is not there costs more round trips.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if ask.Peek {
		return s.peek(ctx, ask)
	}
	sv, err := s.survey(ctx, ask)
	if !errors.Is(err, errNoNamespace) {
		return sv, err
	}
	if ask.New == nil {
		return &protocol.Survey{Worker: -1, Last: -1}, nil
	}
	made, others, err := s.makeNamespace(ctx, ask.New)
	if err != nil {
		return nil, err
	}
	if sv, err = s.survey(ctx, ask); err == nil {
		sv.Made, sv.Others = made, func(context.Context) []string { return others }
	} else if errors.Is(err, errNoNamespace) {
		err = damaged(s.nodes.clock(), errMissing)
	}
	return sv, err
}

func (s *session) survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	n, sv := s.nodes, &protocol.Survey{Worker: -1, Last: -1}
	var owners, slots []string
	var token, identity protocol.Entry[protocol.Pointer]
	reads := []request{s.meta(&sv.Meta), names(n.owners(), &owners)}
	if ask.Token == "" {
		reads = append(reads, names(n.slots(), &slots))
	} else {
		reads = append(reads, record(s.store, n.token(ask.Token), &token), s.register(ask.Token))
	}
	if ask.Identity != "" {
		reads = append(reads, record(s.store, n.identity(ask.Identity), &identity))
	}
	var err error
	if sv.Position, err = s.fetch(ctx, reads...); err != nil {
		return nil, err
	}
	if node := s.registered.Load(); node != nil {
		sv.Ticket = node.ticket
	}
	owned, bad := workersOf(n.owners(), owners)
	if len(bad) > 0 {
		return nil, bad[0]
	}
	sv.Slots = len(slots) + len(owned)
	noteHeld(sv, within(owned, ask.Share))
	if token.There() {
		sv.Worker = token.Record.Worker
	}
	if s.identity.Store(&identity); identity.There() {
		sv.Last = identity.Record.Worker
	}
	return sv, nil
}

// meta reads the namespace's record, which is there if the clock is.
func (st *store) meta(e *protocol.Entry[protocol.Meta]) request {
	path := st.nodes.meta()
	return func(c *client.Conn) error {
		err := record(st, path, e)(c)
		if err == nil && !e.There() {
			err = damaged(path, errMissing)
		}
		return err
	}
}

// slot reads a slot.
func (st *store) slot(id int, e *protocol.Entry[protocol.Slot]) request {
	path := st.nodes.slot(id)
	return func(c *client.Conn) error {
		err := record(st, path, e)(c)
		if err == nil && e.There() && e.Record.Worker != id {
			err = damaged(path, fmt.Errorf("worker is %d and the node is that of %d", e.Record.Worker, id))
		}
		return err
	}
}

// makeNamespace makes the nodes of a namespace, all of them or none. That they are
// there already is no error. It reports whether it has made them, and the names of other
// namespaces.
func (s *session) makeNamespace(ctx context.Context,
	fresh func(at protocol.Span) protocol.Meta,
) (made bool, others []string, err error) {
	if others, err = s.makeRoot(ctx); err != nil {
		return false, nil, err
	}
	value, err := protocol.Encode(fresh(s.Time()))
	if err != nil {
		return false, nil, err
	}
	n := s.nodes
	ops := []op{s.create(n.space, nil, 0)}
	for _, at := range []string{
		n.clock(), n.slots(), n.owners(), n.holders(), n.tokens(), n.identities(),
	} {
		ops = append(ops, s.create(at, nil, 0))
	}
	_, err = s.write(ctx, append(ops, s.create(n.meta(), []byte(value), 0)))
	if is(err, client.ErrNodeExists) {
		return false, nil, nil
	}
	return err == nil, others, err
}

// makeRoot makes the node of all namespaces, and returns their names. Others may add namespaces of
// theirs. The session learns the leader's time, for which there is no clock of the namespace yet:
// from a node that is there for a moment.
func (s *session) makeRoot(ctx context.Context) (names []string, _ error) {
	acl := s.acl
	if s.opts.Login != nil {
		acl = slices.Concat(acl, client.WorldACL(client.PermRead|client.PermCreate))
	}
	err := s.together(ctx, func(c *client.Conn) error {
		_, err := c.Create(s.nodes.root, nil, client.FlagPersistent, acl)
		return s.refused(path.Dir(s.nodes.root), err)
	})
	switch {
	case is(err, client.ErrNoNode):
		return nil, s.noChroot()
	case err != nil && !is(err, client.ErrNodeExists):
		return nil, err
	}
	moment := s.nodes.root + "/.moment-" + rand.Text() // no namespace has such a name
	if _, err := s.write(ctx, []op{
		s.create(moment, nil, client.FlagEphemeral),
		replace(moment, nil, 0),
	}); err != nil {
		return nil, err
	}
	err = s.together(ctx, func(c *client.Conn) error {
		if err := c.Delete(moment, -1); !is(err, client.ErrNoAuth) {
			return err
		}
		return nil // it goes with the session
	}, s.spaces(&names))
	if err != nil {
		return nil, err // names may still be written
	}
	return names, nil
}

// longestName is how long the name of a namespace's node may be, with its length.
const longestName = 4 + 3*128

// spaces reads the names of all namespaces, unless that is refused or the answer may be too long
// for the client, which would end the connection.
func (s *session) spaces(all *[]string) request {
	return func(c *client.Conn) error {
		_, stat, err := c.Exists(s.nodes.root)
		if err != nil || stat.NumChildren > answerRoom/longestName {
			return nil //nolint:nilerr // they are not needed
		}
		nodes, _, _ := c.Children(s.nodes.root)
		for _, node := range nodes {
			if name, ok := unescape(node); ok {
				*all = append(*all, name)
			}
		}
		return nil
	}
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
func (s *session) Holds(v *protocol.View) bool {
	return v.Owned && ownerOf(v) == ownerNode{session: s.id.Load(), token: true}
}

// Look implements [protocol.Session]. The view is empty if there is no namespace.
func (s *session) Look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	n, v := s.nodes, &protocol.View{}
	var owner, leads *client.Stat
	reads := []request{s.meta(&v.Meta), s.slot(worker, &v.Slot), exists(n.owner(worker), &owner)}
	if token != "" {
		reads = append(reads, exists(n.token(token), &leads))
	}
	at, err := s.fetch(ctx, reads...)
	switch {
	case errors.Is(err, errNoNamespace):
		return v, nil
	case err != nil:
		return nil, err
	}
	lease := ownerNode{token: leads != nil}
	if owner != nil {
		lease.session = owner.EphemeralOwner
	}
	v.Position, v.Owned, v.Lease = at, owner != nil, lease
	if s.Holds(v) {
		s.held.Store(true)
	}
	return v, nil
}

// most is how many slots are read at a time.
const most = 1024

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	probed, reads := make([]protocol.Probe, len(workers)), make([]request, len(workers))
	for i, id := range workers {
		read := s.slot(id, &probed[i].Slot)
		reads[i] = func(c *client.Conn) error {
			err := read(c)
			if errors.Is(err, coord.ErrInvalid) {
				probed[i].Err, err = err, nil
			}
			return err
		}
	}
	if err := s.together(ctx, reads...); err != nil {
		return nil, err
	}
	return probed, nil
}

// Leases implements [protocol.Session]. The session of a holder ends no later than its
// TTL after its last sign of life, of which the last renewal is one that is on record.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	var some []int
	for _, h := range holders[:min(len(holders), most)] {
		some = append(some, h.Worker)
	}
	probed, _ := s.Probe(ctx, some)
	var all []protocol.Lease
	for _, p := range probed {
		if rec := p.Slot.Record; p.Err == nil && (rec.Retired || rec.Token != "") {
			all = append(all, protocol.Lease{
				Worker: rec.Worker, Renewed: max(rec.Renewed, 0), TTL: rec.Lease(), Left: -1,
				Retired: rec.Retired,
			})
		}
	}
	return all
}

// List implements [protocol.Session]. ZooKeeper has no way to read many nodes at one
// moment: each slot is as it was at some moment of the call.
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	n, l := s.nodes, &protocol.Listing{}
	var root, space *client.Stat
	// What follows is as it was a moment ago at the latest. Nothing is written.
	err := s.together(ctx, func(c *client.Conn) error {
		_, err := c.Sync(n.root)
		return err
	})
	if err == nil {
		err = s.together(ctx, exists(path.Dir(n.root), &root), exists(n.space, &space))
	}
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return nil, s.noChroot()
	case space == nil:
		return l, nil
	}
	var owners, used []string
	if err := s.together(ctx, s.meta(&l.Meta), names(n.owners(), &owners),
		names(n.slots(), &used)); err != nil || !slots {
		return l, err
	}
	ids, bad := workersOf(n.slots(), used)
	l.Owned, l.Unreadable = workersOf(n.owners(), owners)
	l.Unreadable = append(l.Unreadable, bad...)
	for part := range slices.Chunk(ids, most) {
		probed, err := s.Probe(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, p := range probed {
			if p.Err != nil {
				l.Unreadable = append(l.Unreadable, p.Err)
				continue
			}
			l.Slots = append(l.Slots, p.Slot.Record)
		}
	}
	return l, nil
}

// workersOf returns the worker IDs that children of a node are about, in ascending order.
func workersOf(path string, names []string) (ids []int, bad []error) {
	for _, name := range names {
		id, err := workerOf(path, name)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, bad
}

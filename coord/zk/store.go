package zk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
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
	nodes   folder
	opts    Options
	log     *slog.Logger
	acl     []client.ACL
	life    *lifetime.Life // of the coordinator
	ticket  atomic.Int64   // the number of the last, see fetch
}

// Open implements [protocol.Store]. The session begins to connect.
func (st *store) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := st.newSession(ttl, workers)
	if err != nil {
		return nil, err
	}
	s.token = token
	return s, nil
}

// fetch reads nodes as they are now. It writes the clock first: what follows a write
// in a session is at least as new as the write, on whichever server, while reads
// alone may be old, those after a sync among them. The write also tells the leader's
// time, a number that only grows, and whether the ensemble has lost transactions. Doing
// it twice does no harm, so a broken connection is given another chance.
func (s *session) fetch(ctx context.Context, reads ...request) (fetched, error) {
	for try := 1; ; try++ {
		f := fetched{Position: s.position()}
		clock, replies, err := s.fetchOnce(ctx, reads)
		if err == nil {
			f.Number, f.ticket, f.replies = clock.Mzxid, s.number(clock.Version), replies
		}
		if err == nil || try == readTries || !transient(err) || ctx.Err() != nil || s.ended.Err() != nil {
			return f, err
		}
	}
}

// fetched is what a fetch tells.
type fetched struct {
	protocol.Position       // of the write
	ticket            int64 // how often the clock was written before
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

func (s *session) fetchOnce(ctx context.Context, reads []request) (*client.Stat, []reply, error) {
	requests := append([]request{set(s.nodes.clock(), nil)}, reads...)
	first := 0 // of the above
	if s.opts.User != "" && !s.loggedIn() {
		requests = append([]request{login(s.opts.User, s.opts.Password)}, requests...)
		requests = append(requests, getACL(s.nodes.meta()))
		first = 1
	}
	replies, err := s.together(ctx, requests...)
	if err != nil {
		return nil, nil, err
	}
	if first > 0 {
		if replies[0].err != nil {
			return nil, nil, replies[0].err
		}
		last := len(replies) - 1
		if isOpen(replies[last].acl) {
			return nil, nil, fmt.Errorf("%w: the namespace was made without a user, and its nodes are open to everybody; user %q would keep those who use it from what it writes: leave user and password out, or use another namespace", coord.ErrInvalid, s.opts.User)
		}
		replies = replies[:last]
		s.logIn()
	}
	clock := replies[first]
	switch {
	case definite(clock.err, client.ErrNoNode):
		return nil, nil, errNoNamespace
	case clock.err != nil:
		return nil, nil, refusedAt(s.nodes.clock(), clock.err)
	}
	s.tick(clock.stat.Mtime)
	return clock.stat, replies[first+1:], nil
}

// isOpen reports whether everybody may write what has this access list.
func isOpen(acl []client.ACL) bool {
	return slices.ContainsFunc(acl, func(a client.ACL) bool { return a.Scheme == "world" && a.Perms&client.PermWrite != 0 })
}

// Survey implements [protocol.Session]. It is one round trip, but for the first in a
// namespace, which makes that.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	sv, err := s.survey(ctx, ask)
	if errors.Is(err, errNoNamespace) {
		if ask.New == nil {
			return &protocol.Survey{Ticket: -1, Worker: -1, Last: -1}, nil
		}
		made, makeErr := s.makeNamespace(ctx, ask.New)
		if makeErr != nil {
			return nil, s.explain(ctx, makeErr)
		}
		if sv, err = s.survey(ctx, ask); errors.Is(err, errNoNamespace) {
			err = s.errUnmade()
		}
		if err == nil {
			sv.Made = made
		}
	}
	return sv, s.explain(ctx, err)
}

func (s *session) survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	n := s.nodes
	reads := []request{get(n.meta()), children(n.owners())}
	switch {
	case ask.Token == "":
		reads = append(reads, children(n.slots()))
	default:
		reads = append(reads, get(n.token(ask.Token)))
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
		Position: f.Position, Ticket: f.ticket, Worker: -1, Last: -1,
		Server: s.Time(), Unit: time.Millisecond.Microseconds(),
	}
	if sv.Meta, err = s.metaOf(replies[0]); err != nil {
		return nil, err
	}
	if sv.Owned, err = ownedIn(n.owners(), replies[1], ask.Share); err != nil {
		return nil, err
	}
	for _, id := range sv.Owned {
		sv.Holders = append(sv.Holders, protocol.Holder{Worker: id})
	}
	if ask.Token == "" {
		if replies[2].err != nil {
			return nil, missing(n.slots(), replies[2].err)
		}
		sv.Slots = len(replies[2].children) + len(sv.Owned)
		return sv, nil
	}
	token, err := read[workerRecord](n.token(ask.Token), replies[2])
	if err != nil {
		return nil, err
	}
	if token.There() {
		sv.Worker = token.Record.Worker
	}
	if ask.Identity != "" {
		identity, err := read[workerRecord](n.identity(ask.Identity), replies[3])
		if err != nil {
			return nil, err
		}
		s.know(identity)
		if identity.There() {
			sv.Last = identity.Record.Worker
		}
	}
	return sv, nil
}

// ownedIn lists the worker IDs of a share that have an owner node; the zero share: all.
func ownedIn(path string, r reply, share coord.Range) ([]int, error) {
	if r.err != nil {
		return nil, missing(path, r.err)
	}
	var owned []int
	for _, name := range r.children {
		id, err := workerOf(path, name)
		if err != nil {
			return nil, err
		}
		if share.Count == 0 || id >= share.First && id-share.First < share.Count {
			owned = append(owned, id)
		}
	}
	slices.Sort(owned)
	return owned, nil
}

// metaOf decodes the namespace's record, which is there if the clock is.
func (st *store) metaOf(r reply) (protocol.Entry[protocol.Meta], error) {
	meta, err := read[protocol.Meta](st.nodes.meta(), r)
	if err == nil && !meta.There() {
		err = damaged(st.nodes.meta(), errors.New("the node is missing and there are others of the namespace"))
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
	replies, err := s.together(ctx, create(s.nodes.root, client.FlagPersistent, acl),
		create(moment, client.FlagEphemeral, s.acl), exists(moment), remove(moment))
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
	case replies[2].err != nil:
		return replies[2].err
	}
	s.tick(replies[2].stat.Ctime)
	return nil
}

// ownerNode is what a view knows of an owner node, and of the token that leads to it.
type ownerNode struct {
	session int64 // 0: it has none, because the worker ID is retired
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
	var owner ownerNode
	if v.Owned = replies[2].err == nil; v.Owned {
		owner.session = replies[2].stat.EphemeralOwner
	} else if !definite(replies[2].err, client.ErrNoNode) {
		return nil, replies[2].err
	}
	for _, r := range replies[3:] {
		if owner.token = r.err == nil; !owner.token && !definite(r.err, client.ErrNoNode) {
			return nil, r.err
		}
	}
	v.Lease = owner
	return v, nil
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	reads := make([]request, len(workers))
	for i, id := range workers {
		reads[i] = get(s.nodes.slot(id))
	}
	replies, err := s.together(ctx, reads...)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	probed := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		probed[i].Slot, probed[i].Err = s.slotOf(id, replies[i])
	}
	return probed, nil
}

// surveyed is how many slots are read to tell when the next lease ends.
const surveyed = 1024

// Leases implements [protocol.Session]. The session of a holder ends no later than its
// TTL after its last sign of life, of which the last renewal is one that is on record.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	reads := make([]request, 0, min(len(holders), surveyed))
	for i := range cap(reads) {
		reads = append(reads, get(s.nodes.slot(holders[i*len(holders)/cap(reads)].Worker)))
	}
	f, err := s.fetch(ctx, reads...)
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

// listed is how many slots are read at a time.
const listed = 1024

// List implements [protocol.Session]. ZooKeeper has no way to read many nodes at one
// moment: each slot is as it was at some moment of the call.
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	l, err := s.list(ctx, slots)
	return l, s.explain(ctx, err)
}

func (s *session) list(ctx context.Context, slots bool) (*protocol.Listing, error) {
	n, l := s.nodes, &protocol.Listing{}
	replies, err := s.peek(ctx, get(n.meta()), children(n.owners()), children(n.slots()))
	if err != nil {
		return nil, err
	}
	l.Meta, err = read[protocol.Meta](n.meta(), replies[0])
	switch {
	case err != nil:
		return nil, err
	case !l.Meta.There() && definite(replies[2].err, client.ErrNoNode):
		return l, s.checkChroot(ctx)
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
	for part := range slices.Chunk(ids, listed) {
		reads := make([]request, len(part))
		for i, id := range part {
			reads[i] = get(n.slot(id))
		}
		replies, err := s.together(ctx, reads...)
		if err != nil {
			return nil, err
		}
		for i, id := range part {
			slot, err := s.slotOf(id, replies[i])
			if err != nil {
				l.Unreadable = append(l.Unreadable, fmt.Errorf("zookeeper: %w", err))
				continue
			}
			l.Slots = append(l.Slots, slot.Record)
		}
	}
	return l, nil
}

// peek reads nodes without writing anything, as they were a moment ago at the latest.
func (s *session) peek(ctx context.Context, reads ...request) ([]reply, error) {
	requests := append([]request{catchUp(s.nodes.root)}, reads...)
	if s.opts.User != "" {
		requests = append([]request{login(s.opts.User, s.opts.Password)}, requests...)
	}
	replies, err := s.together(ctx, requests...)
	if err != nil {
		return nil, err
	}
	return replies[len(replies)-len(reads):], nil
}

// checkChroot returns an error if the chroot is not there, which is why a namespace is
// not.
func (s *session) checkChroot(ctx context.Context) error {
	chroot := strings.TrimSuffix(s.nodes.root, rootName)
	if chroot == "" {
		return nil
	}
	replies, err := s.peek(ctx, exists(chroot))
	switch {
	case err != nil:
		return err
	case definite(replies[0].err, client.ErrNoNode):
		return s.noChroot()
	}
	return replies[0].err
}

// workersOf returns the worker IDs that children are about, in ascending order.
func workersOf(path string, names []string) (ids []int, unreadable []error) {
	for _, name := range names {
		id, err := workerOf(path, name)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("zookeeper: %w", err))
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, unreadable
}

package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
)

// errNoNamespace says that the namespace was not made yet.
var errNoNamespace = errors.New("there is no such namespace")

// readTries is how often something is read before its error counts.
const readTries = 3

// fetch reads nodes as they are now. It writes the clock first: what follows a write
// in a session is at least as new as the write, on whichever server, while reads
// alone may be old, those after a sync among them. The write also tells the leader's
// time, and whether the ensemble has lost transactions. Doing it twice does no harm,
// so a broken connection is given another chance.
func (c *Coordinator) fetch(ctx context.Context, s *session, reads ...request) ([]reply, error) {
	_, replies, err := c.fetchAt(ctx, s, reads...)
	return replies, err
}

// fetchAt is fetch that also returns the clock's node.
func (c *Coordinator) fetchAt(ctx context.Context, s *session, reads ...request) (*client.Stat, []reply, error) {
	for try := 1; ; try++ {
		clock, replies, err := c.fetchOnce(ctx, s, reads)
		if err == nil || try == readTries || !transient(err) || ctx.Err() != nil || s.life.Err() != nil {
			return clock, replies, err
		}
	}
}

func (c *Coordinator) fetchOnce(ctx context.Context, s *session, reads []request) (*client.Stat, []reply, error) {
	requests := append([]request{set(c.nodes.clock(), nil)}, reads...)
	first := 0 // of the above
	if c.opts.User != "" && !s.loggedIn() {
		requests = append([]request{login(c.opts.User, c.opts.Password)}, requests...)
		requests = append(requests, getACL(c.nodes.meta()))
		first = 1
	}
	at := s.sight()
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
			return nil, nil, fmt.Errorf("%w: the namespace was made without a user, and its nodes are open to everybody; user %q would keep those who use it from what it writes: leave user and password out, or use another namespace", coord.ErrInvalid, c.opts.User)
		}
		replies = replies[:last]
		s.logIn()
	}
	clock := replies[first]
	switch {
	case definite(clock.err, client.ErrNoNode):
		return nil, nil, errNoNamespace
	case clock.err != nil:
		return nil, nil, refusedAt(c.nodes.clock(), clock.err)
	}
	s.tick(clock.stat.Mtime)
	c.memory.learn(at, clock.stat.Mzxid, s.time())
	return clock.stat, replies[first+1:], nil
}

// isOpen tells whether everybody may write what has this access list.
func isOpen(acl []client.ACL) bool {
	return slices.ContainsFunc(acl, func(a client.ACL) bool { return a.Scheme == "world" && a.Perms&client.PermWrite != 0 })
}

// write makes a transaction. If a server refuses it, failed is the operation that is
// to blame, and otherwise negative: what became of it is not known.
func (c *Coordinator) write(ctx context.Context, s *session, ops []any) (failed int, err error) {
	at := s.sight()
	replies, err := s.together(ctx, multi(ops))
	if err != nil {
		return -1, err
	}
	r := replies[0]
	if r.err != nil {
		for i, one := range r.results {
			if one.Error != nil {
				return i, refusedAt(guardOf(ops[i]), r.err)
			}
		}
		return 0, r.err // which one is to blame was not said
	}
	zxid := s.answered.Load()
	for _, one := range r.results {
		if one.Stat != nil {
			s.tick(one.Stat.Mtime)
			zxid = one.Stat.Mzxid
		}
	}
	c.memory.learn(at, zxid, s.time())
	return 0, nil
}

// transient tells whether an error may be gone with the next try.
func transient(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, client.ErrConnectionClosed, client.ErrNoServer, client.ErrSessionMoved, client.ErrClosing} {
		if errors.Is(err, e) {
			return true
		}
	}
	_, broken := errors.AsType[net.Error](err) // a write on a connection that is gone
	return broken
}

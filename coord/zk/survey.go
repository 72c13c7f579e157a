package zk

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

// survey is what an acquisition learns with its first requests: everything but the
// slots.
type survey struct {
	era      int64 // of the memory
	session  *session
	at       time.Time
	meta     stored[record.Meta]
	ticket   int64 // 0 or more
	token    stored[workerRecord]
	identity stored[workerRecord]
	owned    []int // worker IDs of the share that cannot be had, in ascending order
}

// survey draws a ticket and reads the namespace.
func (a *acquisition) survey(ctx context.Context, s *session) (*survey, error) {
	n := a.nodes
	reads := []request{draw(n.ticket(a.req.Token), a.acl), get(n.meta()), get(n.token(a.req.Token)), children(n.owners())}
	if a.req.Identity != "" {
		reads = append(reads, get(n.identity(a.req.Identity)))
	}
	earliest, at := a.clock(), a.memory.sight()
	clock, replies, err := a.fetchAt(ctx, s, reads...)
	if err != nil {
		return nil, err
	}
	ticket, replies := replies[0], replies[1:]
	if ticket.err != nil && !definite(ticket.err, client.ErrNodeExists) { // see ticketNumber
		return nil, missing(n.tickets(), ticket.err)
	}
	sv := &survey{era: at.era, session: s, at: now(), ticket: ticketNumber(strings.TrimPrefix(ticket.path, n.ticket(a.req.Token)))}
	if sv.meta, err = a.metaOf(replies[0]); err != nil {
		return nil, err
	}
	a.memory.know(at, sv.meta)
	if sv.meta.rec.Fingerprint != a.req.Fingerprint {
		return nil, &coord.LayoutMismatchError{Namespace: a.namespace, Stored: sv.meta.rec.Fingerprint, Wanted: a.req.Fingerprint}
	}
	if err := checkSkew(earliest, a.clock(), clock.Mtime, a.opts.SkewBound); err != nil {
		return nil, err
	}
	if sv.token, err = read[workerRecord](n.token(a.req.Token), replies[1]); err != nil {
		return nil, err
	}
	if sv.owned, err = ownedIn(n.owners(), replies[2], a.req.Workers); err != nil {
		return nil, err
	}
	if a.req.Identity != "" {
		sv.identity, err = read[workerRecord](n.identity(a.req.Identity), replies[3])
	}
	return sv, err
}

// ticketNumber reads the number that ZooKeeper has added to a ticket's name. Numbers
// have 32 bits with a sign: after 2^31 - 1 they stay there, so that a token's second
// ticket is one that exists, or go on below zero, and then any place to begin at is as
// good as another. The same goes for a number that is none.
func ticketNumber(suffix string) int64 {
	n, err := strconv.ParseInt(suffix, 10, 32)
	if err != nil || n < 0 || n == math.MaxInt32 {
		return rand.Int64N(math.MaxInt32)
	}
	return n
}

// ownedIn lists the worker IDs of a share that have an owner node.
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
		if id >= share.First && id-share.First < share.Count {
			owned = append(owned, id)
		}
	}
	slices.Sort(owned)
	return owned, nil
}

// missing is the error of a folder that is part of every namespace.
func missing(path string, err error) error {
	if definite(err, client.ErrNoNode) {
		return damaged(path, errors.New("the node is missing and there are others of the namespace"))
	}
	return err
}

// makeNamespace makes the nodes of a namespace, all of them or none. That they are
// there already is no error.
func (c *Coordinator) makeNamespace(ctx context.Context, s *session, meta record.Meta) error {
	known := c.memory.sight().meta
	if known != nil {
		// It has not been new but lost.
		meta.Floor = c.ward(meta, s.leaderTime())
		if known.rec.Fingerprint == meta.Fingerprint {
			meta.Floor = max(meta.Floor, known.rec.Floor)
		}
	}
	value, err := record.Encode(meta)
	if err != nil {
		return err
	}
	if err := c.makeRoot(ctx, s); err != nil {
		return err
	}
	n := c.nodes
	var ops []any
	for _, path := range []string{n.space, n.clock(), n.tickets(), n.slots(), n.owners(), n.tokens(), n.identities()} {
		ops = append(ops, &client.CreateRequest{Path: path, Acl: c.acl})
	}
	_, err = c.write(ctx, s, append(ops, c.creates(n.meta(), []byte(value))...))
	switch {
	case definite(err, client.ErrNodeExists):
		return nil
	case err != nil:
		return err
	}
	if known != nil {
		c.memory.forgive(s.answered.Load(), nil)
		c.log.Error("the namespace was gone; it is made anew, and nothing is granted until the windows that may be lost with it are over",
			"namespace", c.namespace, "until", record.Stamp(meta.Scale().Micro(meta.Floor+1)))
	}
	return nil
}

// makeRoot makes the node of all namespaces. Others may add namespaces of theirs.
func (c *Coordinator) makeRoot(ctx context.Context, s *session) error {
	acl := c.acl
	if c.opts.User != "" {
		acl = slices.Concat(acl, client.WorldACL(client.PermRead|client.PermCreate))
	}
	replies, err := s.together(ctx, create(c.nodes.root, acl))
	if err != nil {
		return err
	}
	switch err := replies[0].err; {
	case err == nil, definite(err, client.ErrNodeExists):
		return nil
	case definite(err, client.ErrNoNode):
		return c.noChroot()
	default:
		return err
	}
}

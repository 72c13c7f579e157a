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
	"github.com/unalike-id/unalike/internal/protocol"
)

// survey is what an acquisition learns with its first requests: everything but the
// slots.
type survey struct {
	era      int64 // of the memory
	session  *session
	begun    time.Time
	at       time.Time // when its answers were there
	clock    int64     // the leader's while it was made, in milliseconds since 1970
	meta     stored[protocol.Meta]
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
	begun, earliest, at := now(), a.clock(), a.memory.sight()
	clock, replies, err := a.fetchAt(ctx, s, reads...)
	if err != nil {
		return nil, err
	}
	ticket, replies := replies[0], replies[1:]
	if ticket.err != nil && !definite(ticket.err, client.ErrNodeExists) { // see ticketNumber
		return nil, missing(n.tickets(), ticket.err)
	}
	sv := &survey{era: at.era, session: s, begun: begun, at: now(), clock: clock.Mtime}
	if sv.meta, err = a.metaOf(replies[0]); err != nil {
		return nil, err
	}
	a.memory.know(at, sv.meta, s.time())
	var numbered bool
	if sv.ticket, numbered = ticketNumber(strings.TrimPrefix(ticket.path, n.ticket(a.req.Token))); numbered {
		a.memory.draw(at, sv.ticket, s.time())
	}
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
func ticketNumber(suffix string) (n int64, numbered bool) {
	n, err := strconv.ParseInt(suffix, 10, 32)
	if err != nil || n < 0 || n == math.MaxInt32 {
		return rand.Int64N(math.MaxInt32), false
	}
	return n, true
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

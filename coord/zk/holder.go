package zk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/protocol"
)

// longestHolder is how much of Request.Holder a holder's node shows.
const longestHolder = 1024

// registration is the node of a session among the holders. It is ephemeral and sequential: its
// name is the token, a dash and the ticket.
type registration struct {
	tried atomic.Bool // the node may be there
	made  atomic.Pointer[holderNode]
}

type holderNode struct {
	path   string
	ticket int64 // 1 or more
}

// register makes the session's node, unless it has one.
func (s *session) register(token string) request {
	return func(c *client.Conn) error {
		if s.registration.made.Load() != nil {
			return nil
		}
		prefix := s.nodes.holders() + "/" + escape(token) + "-"
		at, err := "", error(nil)
		if s.registration.tried.Swap(true) { //mutant:zk-registered
			at, err = s.registered(c, prefix)
		}
		if at == "" && err == nil {
			at, err = c.Create(prefix, nil, client.FlagEphemeral|client.FlagSequence, s.acl)
		}
		switch {
		case is(err, client.ErrNoNode):
			return damaged(s.nodes.holders(), errMissing)
		case err != nil:
			return s.refused(s.nodes.holders(), err)
		}
		// ZooKeeper counts from 0 with 32 bits, and goes on below zero.
		n, err := strconv.ParseInt(strings.TrimPrefix(at, prefix), 10, 32)
		if err != nil {
			return damaged(at, err)
		}
		s.registration.made.Store(&holderNode{at, int64(uint32(n)) + 1})
		return nil
	}
}

// registered returns the path of a node that an earlier attempt has made, whose answer was lost;
// empty: there is none.
func (s *session) registered(c *client.Conn, prefix string) (at string, _ error) {
	all, _, err := c.Children(s.nodes.holders())
	for _, name := range all {
		at := s.nodes.holders() + "/" + name
		if !strings.HasPrefix(at, prefix) {
			continue
		}
		_, stat, err := c.Exists(at)
		if err != nil || stat.EphemeralOwner == s.id.Load() {
			return at, err
		}
	}
	return "", err
}

// showGrant has the session's node show who has which worker ID. A grant that is put back may be
// the first thing that its session does.
func (c *commit) showGrant(ctx context.Context) error {
	if c.change.Owner != protocol.OwnerTaken {
		return nil
	}
	if err := c.together(ctx, c.register(c.change.Token)); err != nil {
		return err
	}
	holder := c.now.Slot.Record.Holder
	text := fmt.Sprintf("%s has worker ID %d", holder[:min(len(holder), longestHolder)], c.worker)
	c.ops = append(c.ops, replace(c.registration.made.Load().path, []byte(text), -1))
	return nil
}

package zk

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/protocol"
)

// holderNode is the node of a session among the holders.
type holderNode struct {
	path   string
	ticket int64 // its number, and 1
}

// newHolderNode returns the node at a path, which ends with the number. ZooKeeper counts with 32
// bits and prints numbers from 2^31 on as negative ones.
func newHolderNode(path, prefix string) *holderNode {
	number, _ := strconv.ParseInt(strings.TrimPrefix(path, prefix), 10, 32)
	return &holderNode{path, int64(uint32(number)) + 1}
}

// register makes the session's node among the holders, unless it has one. The node is ephemeral and
// sequential: its name is the token, a dash and the ticket.
func (s *session) register(token string) request {
	return func(c *client.Conn) error {
		if s.registered.Load() != nil {
			return nil
		}
		folder := s.nodes.holders()
		prefix := folder + "/" + escape(token) + "-"
		path, err := c.Create(prefix, nil, client.FlagEphemeral|client.FlagSequence, s.acl)
		switch {
		case err == nil:
			s.registered.Store(newHolderNode(path, prefix))
		case is(err, client.ErrNoNode): // an operator has deleted the folder, or all of the namespace
			//mutant:zk-holders
			_, err = c.Multi(check(s.nodes.meta(), -1).request, s.create(folder, nil, 0).request)
			if err == nil || is(err, client.ErrNodeExists) {
				return s.register(token)(c)
			}
		case is(err, client.ErrConnectionClosed):
			s.end(errEnded) //mutant:zk-registered
		}
		return s.refused(folder, err)
	}
}

// showGrant has the session's node show who has which worker ID. A grant that is put back may be
// the first thing that its session does.
func (c *commit) showGrant(ctx context.Context) error {
	if c.change.Owner != protocol.OwnerTaken {
		return nil
	}
	err := c.together(ctx, c.register(c.change.Token))
	if node := c.registered.Load(); err == nil && node != nil {
		text := fmt.Sprintf("%s has worker ID %d", c.change.Slot.Holder, c.worker)
		c.ops = append(c.ops, replace(node.path, []byte(text), -1))
	}
	return err
}

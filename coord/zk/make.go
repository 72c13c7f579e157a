package zk

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"slices"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/protocol"
)

// makeNamespace makes the nodes of a namespace, all of them or none. That they are
// there already is no error. A namespace that is known has not been new but lost: it
// comes back with another nonce and with a floor.
func (c *Coordinator) makeNamespace(ctx context.Context, s *session, meta protocol.Meta) error {
	known := c.memory.sight().meta
	if err := c.makeRoot(ctx, s, known != nil); err != nil {
		return err
	}
	now := s.time()
	if known != nil {
		if known.rec.Fingerprint == meta.Fingerprint {
			meta = known.rec
		}
		meta.Nonce = rand.Text()
		meta = meta.AfterLoss(&known.rec, now, MaxHorizon, c.opts.SkewBound)
	}
	value, err := protocol.Encode(meta)
	if err != nil {
		return err
	}
	n := c.nodes
	var ops []any
	for _, at := range []string{n.space, n.clock(), n.tickets(), n.slots(), n.owners(), n.tokens(), n.identities()} {
		ops = append(ops, &client.CreateRequest{Path: at, Acl: c.acl})
	}
	_, err = c.write(ctx, s, append(ops, c.creates(n.meta(), []byte(value))...))
	switch {
	case definite(err, client.ErrNodeExists):
		return nil
	case err != nil:
		return err
	}
	if known != nil {
		c.memory.forgive(s.answered.Load(), nil, now)
		c.log.Error("the namespace was gone; it is made anew, and nothing is granted until the windows that may be lost with it are over",
			"namespace", c.namespace, "until", protocol.Stamp(meta.Scale().Micro(meta.Floor+1)))
	}
	return nil
}

// makeRoot makes the node of all namespaces. Others may add namespaces of theirs. With
// ask, the session learns the leader's time, for which there is no clock of the
// namespace: from a node that is there for a moment.
func (c *Coordinator) makeRoot(ctx context.Context, s *session, ask bool) error {
	acl := c.acl
	if c.opts.User != "" {
		acl = slices.Concat(acl, client.WorldACL(client.PermRead|client.PermCreate))
	}
	requests := []request{create(c.nodes.root, client.FlagPersistent, acl)}
	if ask {
		moment := c.nodes.moment(rand.Text())
		requests = append(requests, create(moment, client.FlagEphemeral, c.acl), exists(moment), remove(moment))
	}
	replies, err := s.together(ctx, requests...)
	if err != nil {
		return err
	}
	switch err := replies[0].err; {
	case definite(err, client.ErrNoNode):
		return c.noChroot()
	case err != nil && !definite(err, client.ErrNodeExists):
		return refusedAt(path.Dir(c.nodes.root), err)
	case ask && replies[1].err != nil:
		return refusedAt(c.nodes.root, replies[1].err)
	case ask && replies[2].err != nil:
		return replies[2].err
	case ask:
		s.tick(replies[2].stat.Ctime)
	}
	return nil
}

// errUnmade is the error of a namespace whose nodes are there, but for the one without
// which it counts as not made.
func (c *Coordinator) errUnmade() error {
	return damaged(c.nodes.clock(), errors.New("the node is missing and there are others of the namespace"))
}

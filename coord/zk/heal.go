package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// reference is the time that counts for others: the leader's, and not this machine's
// where the two differ by more than is allowed. Where they do not, the later one, since
// the leader before may have had a clock that was a bit ahead. Without a leader's time,
// which is 0 then, it is this machine's.
func (c *Coordinator) reference(leader int64) int64 {
	now := c.now()
	if leader == 0 {
		return now
	}
	return protocol.ClockForFloor(now, protocol.Span{Low: leader, High: leader}, c.opts.SkewBound)
}

// heal raises the floor if writes were lost, see rule 11 of package coord. It has to
// be told of a session that can be used.
func (c *Coordinator) heal(ctx context.Context, s *session) error {
	if c.memory.loss() == "" {
		return nil
	}
	select {
	case c.memory.raising <- struct{}{}:
		defer func() { <-c.memory.raising }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := range raises {
		why := c.memory.loss()
		if why == "" {
			return nil // somebody else has done it
		}
		if err := lifetime.Pause(ctx, n); err != nil {
			return err
		}
		if done, err := c.raise(ctx, s, why); done || err != nil {
			return err
		}
	}
	return errBusy
}

// raises is how often a call tries to raise the floor: after a loss, all processes that
// notice it try at the same time.
const raises = 20

// raise makes one attempt at raising the floor.
func (c *Coordinator) raise(ctx context.Context, s *session, why string) (done bool, err error) {
	known := c.memory.sight().meta
	meta, err := c.readMeta(ctx, s)
	if errors.Is(err, errNoNamespace) && known != nil {
		// It is made with a floor.
		if err := c.makeNamespace(ctx, s, known.rec); err != nil || c.memory.loss() == "" {
			return false, err
		}
		// Somebody else was faster, or it is there but for one node.
		if meta, err = c.readMeta(ctx, s); errors.Is(err, errNoNamespace) {
			err = c.errUnmade()
		}
	}
	if err != nil {
		return false, err
	}
	now := c.reference(s.leaderTime())
	if c.settled(meta.rec) {
		c.memory.forgive(s.answered.Load(), &meta, now)
		c.log.Warn("the ZooKeeper ensemble has lost writes; somebody has raised the floor since", "namespace", c.namespace, "reason", why)
		return true, nil
	}
	var before *protocol.Meta
	if known != nil {
		before = &known.rec
	}
	next := meta.rec.AfterLoss(before, now, MaxHorizon, c.opts.SkewBound)
	raised, err := c.writeMeta(ctx, s, meta, next)
	switch {
	case errors.Is(err, errAgain):
		return false, nil
	case err != nil:
		return false, err
	}
	c.memory.forgive(s.answered.Load(), &raised, now)
	c.log.Error("the ZooKeeper ensemble has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.namespace, "reason", why, "until", protocol.Stamp(next.Scale().Micro(next.Floor+1)))
	return true, nil
}

// writeMeta puts next in the place of what was read, and returns what is stored then.
// errAgain: something was changed meanwhile.
func (c *Coordinator) writeMeta(ctx context.Context, s *session, old stored[protocol.Meta], next protocol.Meta) (stored[protocol.Meta], error) {
	value, err := protocol.Encode(next)
	if err != nil {
		return old, err
	}
	ops := c.replaces(c.nodes.meta(), old.raw, []byte(value), old.version)
	failed, err := c.write(ctx, s, ops)
	if !definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion) {
		return old.then(next, []byte(value)), err
	}
	if now, _ := c.readMeta(ctx, s); now.version == old.version && bytes.Equal(now.raw, old.raw) {
		return old, misfit(ops[failed], err)
	}
	return old, errAgain
}

// checkedMeta reads the namespace's record for an operator who is about to raise or
// lower the floor, with the time to use. The error is a [*coord.ClockSkewError] if this
// machine's clock is wrong.
func (c *Coordinator) checkedMeta(ctx context.Context, s *session) (meta stored[protocol.Meta], now int64, _ error) {
	earliest := c.now()
	clock, replies, err := c.fetchAt(ctx, s, get(c.nodes.meta()))
	switch {
	case errors.Is(err, errNoNamespace):
		return meta, 0, fmt.Errorf("%w: there is no such namespace; declare it with Init first", coord.ErrInvalid)
	case err != nil:
		return meta, 0, err
	}
	now = c.now()
	if err := checkSkew(earliest, now, clock.Mtime, c.opts.SkewBound); err != nil {
		return meta, 0, err
	}
	meta, err = c.metaOf(replies[0])
	return meta, s.time(), err
}

// readMeta reads the namespace's record.
func (c *Coordinator) readMeta(ctx context.Context, s *session) (stored[protocol.Meta], error) {
	replies, err := c.fetch(ctx, s, get(c.nodes.meta()))
	if err != nil {
		return stored[protocol.Meta]{}, err
	}
	return c.metaOf(replies[0])
}

// metaOf decodes the namespace's record, which is there if the clock is.
func (c *Coordinator) metaOf(r reply) (stored[protocol.Meta], error) {
	meta, err := read[protocol.Meta](c.nodes.meta(), r)
	if err == nil && !meta.there() {
		err = damaged(c.nodes.meta(), errors.New("the node is missing and there are others of the namespace"))
	}
	return meta, err
}

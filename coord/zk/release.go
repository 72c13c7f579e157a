package zk

import (
	"context"
	"errors"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// release gives a worker ID back, by rule 9, and ends the session of the grant. A
// transaction whose reply was lost is looked into, and made once more if it was not
// done.
func (c *Coordinator) release(ctx context.Context, g coord.Grant, last int64) error {
	t, err := c.hold(ctx, g)
	if err != nil {
		return err
	}
	defer c.leave(t.inc)
	err = t.keep(ctx, func(ctx context.Context, s *session, _ int64) (bool, error) {
		return t.giveBack(ctx, s, last)
	})
	switch {
	case err == nil:
		c.drop(t.inc)
	case errors.Is(err, coord.ErrLeaseLost):
		t.lose()
	default:
		// If it was not done, the worker ID is free all the same when the session ends.
		c.drop(t.inc)
	}
	return err
}

// giveBack makes the transaction of a release.
func (t *tenure) giveBack(ctx context.Context, s *session, last int64) (bool, error) {
	ops, err := t.returns(t.v, t.g.Token, t.v.slot.rec.Trimmed(last))
	if err != nil {
		return false, err
	}
	failed, err := t.write(ctx, s, ops)
	switch {
	case err == nil:
		return true, t.heal(ctx, s)
	case failed < 0 && t.attempt != nil:
		return false, err
	case failed < 0:
		t.attempt, t.v = err, nil
		return false, nil
	case definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
		return false, t.again(ops[failed], err)
	}
	return false, err
}

// returns are the operations that leave a slot to whoever comes next.
func (c *Coordinator) returns(v *view, token string, slot protocol.Slot) ([]any, error) {
	value, err := protocol.Encode(slot)
	if err != nil {
		return nil, err
	}
	ops := append([]any{unchanged(c.nodes.meta(), v.meta.raw)}, c.parting(v, token, slot.Worker)...)
	return append(ops, c.replaces(c.nodes.slot(slot.Worker), v.slot.raw, []byte(value), v.slot.version)...), nil
}

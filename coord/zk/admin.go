package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Init implements [coord.Admin]. With ZooKeeper, a namespace need not be declared
// before it is used: one that was never seen is taken to be new.
func (c *Coordinator) Init(ctx context.Context, space coord.Space) error {
	meta := protocol.NewMeta(space)
	if err := meta.Check(); err != nil {
		return fmt.Errorf("%w: Space: %w", coord.ErrInvalid, err)
	}
	var refused *stored[protocol.Meta] // what a transaction was refused for that took it to be stored
	made := false
	return c.admin(ctx, "declare the namespace new", func(ctx context.Context, s *session) error {
		old, err := c.readMeta(ctx, s)
		switch {
		case errors.Is(err, errNoNamespace) && made:
			return c.errUnmade()
		case errors.Is(err, errNoNamespace):
			made = true
			if err := c.makeNamespace(ctx, s, meta); err != nil {
				return err
			}
			return errAgain
		case err != nil:
			return err
		case old.rec.Fingerprint != space.Fingerprint:
			return &coord.LayoutMismatchError{Namespace: c.namespace, Stored: old.rec.Fingerprint, Wanted: space.Fingerprint}
		}
		// The record stays as it is: a floor is never lowered.
		ops := c.replaces(c.nodes.meta(), old.raw, old.raw, old.version)
		// What has children cannot be deleted.
		for _, path := range []string{c.nodes.slots(), c.nodes.owners()} {
			ops = append(ops, &client.DeleteRequest{Path: path, Version: -1}, &client.CreateRequest{Path: path, Acl: c.acl})
		}
		failed, err := c.write(ctx, s, ops)
		switch {
		case definite(err, client.ErrNotEmpty):
			return fmt.Errorf("%w: the namespace is not new: worker IDs were granted in it; use another namespace", coord.ErrInvalid)
		case !definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
			return err
		case refused != nil && refused.version == old.version && bytes.Equal(refused.raw, old.raw):
			return misfit(ops[failed], err)
		}
		refused = &old
		return errAgain
	})
}

// Quarantine implements [coord.Admin].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return c.changeFloor(ctx, "raise the floor", func(meta protocol.Meta, now int64) (protocol.Meta, error) {
		if until.IsZero() {
			return meta.AfterLoss(nil, now, MaxHorizon, c.opts.SkewBound), nil
		}
		return meta.Quarantine(until)
	})
}

// Lower implements [coord.Lowerer].
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	return c.changeFloor(ctx, "lower the floor", func(meta protocol.Meta, now int64) (protocol.Meta, error) {
		return meta.Lowered(now, MaxHorizon, c.opts.SkewBound)
	})
}

// changeFloor makes a change to the namespace's record, and returns the floor that
// holds then. Nothing is changed if this machine's clock is wrong.
func (c *Coordinator) changeFloor(ctx context.Context, what string, change func(meta protocol.Meta, now int64) (protocol.Meta, error)) (time.Time, error) {
	var floor time.Time
	err := c.admin(ctx, what, func(ctx context.Context, s *session) error {
		old, now, err := c.checkedMeta(ctx, s)
		if err != nil {
			return err
		}
		meta, err := change(old.rec, now)
		if err != nil {
			return err
		}
		floor = protocol.Time(meta.Scale().Micro(meta.Floor))
		if meta.Floor == old.rec.Floor && meta.Base == old.rec.Base && meta.Loss == old.rec.Loss {
			return nil
		}
		_, err = c.writeMeta(ctx, s, old, meta)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return floor, nil
}

// Retire implements [coord.Admin].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	var refused *view // what a transaction was refused for that took it to be stored
	return c.admin(ctx, fmt.Sprintf("retire worker ID %d", workerID), func(ctx context.Context, s *session) error {
		if workerID < 0 {
			return fmt.Errorf("%w: worker ID %d; worker IDs are 0 or more", coord.ErrInvalid, workerID)
		}
		v, err := c.look(ctx, s, workerID, "")
		switch {
		case err != nil:
			return err
		case !v.meta.there():
			return fmt.Errorf("%w: %w", coord.ErrInvalid, errNoNamespace)
		case workerID >= v.meta.rec.Capacity:
			return fmt.Errorf("%w: worker ID %d; the layout has worker IDs 0 to %d", coord.ErrInvalid, workerID, v.meta.rec.Capacity-1)
		case v.slot.rec.Retired && v.owned:
			return nil
		}
		value, err := protocol.Encode(v.slot.rec.Withdrawn(v.meta.rec, workerID, c.now()))
		if err != nil {
			return err
		}
		ops := []any{unchanged(c.nodes.meta(), v.meta.raw)}
		if v.owned {
			ops = append(ops, &client.DeleteRequest{Path: c.nodes.owner(workerID), Version: -1})
		}
		// An owner node that is not ephemeral is there for ever.
		ops = append(ops, &client.CreateRequest{Path: c.nodes.owner(workerID), Acl: c.acl})
		if path := c.nodes.slot(workerID); v.slot.there() {
			ops = append(ops, c.replaces(path, v.slot.raw, []byte(value), v.slot.version)...)
		} else {
			ops = append(ops, c.creates(path, []byte(value))...)
		}
		failed, err := c.write(ctx, s, ops)
		switch {
		case !definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion):
			return err
		case refused != nil && refused.same(v):
			return misfit(ops[failed], err)
		}
		refused = v
		return errAgain
	})
}

// admin makes a change to the namespace; change is called again after errAgain.
func (c *Coordinator) admin(ctx context.Context, what string, change func(context.Context, *session) error) error {
	return c.visit(ctx, what, func(ctx context.Context, s *session) error {
		for n := 0; ; n++ {
			err := change(ctx, s)
			if !errors.Is(err, errAgain) {
				return err
			}
			if ended := lifetime.Pause(ctx, n); ended != nil {
				return fmt.Errorf("%w (%w)", ended, err)
			}
		}
	})
}

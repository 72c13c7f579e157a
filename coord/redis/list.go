package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// List implements [coord.Admin]. It keeps the server busy for some 15 us a slot.
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	r, err := c.do(ctx, operation{what: "list the worker IDs"}, listScript)
	if err != nil {
		return nil, err
	}
	layout, err := r.text(3)
	if err != nil || layout == "" {
		return nil, err // there is no namespace
	}
	scale, err1 := r.scale(1)
	rows, err2 := r.list(4)
	unreadable, err3 := r.list(5)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	var slots []coord.Slot
	var errs []error
	for _, row := range rows {
		s, err := listed(row, scale)
		if err != nil {
			return nil, err
		}
		s.Layout = layout
		slots = append(slots, s)
	}
	for _, u := range unreadable {
		field, err1 := u.text(0)
		why, err2 := u.text(1)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		errs = append(errs, fmt.Errorf("redis: %w", c.damaged(field, why)))
	}
	slices.SortFunc(slots, func(a, b coord.Slot) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	return slots, errors.Join(errs...)
}

// Inspect implements [coord.Admin].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	r, err := c.do(ctx, operation{what: "look at the namespace"}, inspectScript)
	if err != nil {
		return coord.Namespace{}, err
	}
	layout, err1 := r.text(1)
	v, err2 := r.ints(2, 6)
	nonce, err3 := r.text(8)
	if err := errors.Join(err1, err2, err3); err != nil || layout == "" {
		return coord.Namespace{}, err
	}
	scale, err := r.scale(4)
	if err != nil {
		return coord.Namespace{}, err
	}
	meta := protocol.Meta{Fingerprint: layout, Nonce: nonce, Floor: v[0], Base: v[5], LastTick: v[1], Epoch: scale.Epoch, Unit: scale.Unit, Loss: protocol.Loss{Floor: v[4]}}
	return meta.Inspected(), nil
}

// listed is a slot as an operator sees it.
func listed(row reply, scale clock.Scale) (coord.Slot, error) {
	id, err1 := row.ints(0, 1)
	v, err2 := row.ints(4, 3)
	var texts [5]string
	var errs [5]error
	for i, at := range []int{1, 2, 3, 7, 8} {
		texts[i], errs[i] = row.text(at)
	}
	if err := errors.Join(err1, err2, errors.Join(errs[:]...)); err != nil {
		return coord.Slot{}, err
	}
	since, err1 := time.Parse(time.RFC3339Nano, texts[3])
	renewed, err2 := time.Parse(time.RFC3339Nano, texts[4])
	if err := errors.Join(err1, err2); err != nil {
		return coord.Slot{}, fmt.Errorf("%w: worker ID %d: %w", coord.ErrInvalid, id[0], err)
	}
	states := map[string]coord.SlotState{"free": coord.SlotFree, "held": coord.SlotHeld, "retired": coord.SlotRetired}
	return coord.Slot{
		WorkerID: int(id[0]), State: states[texts[0]], Holder: texts[1], Identity: texts[2], Generation: uint64(v[0]),
		NotBefore: v[1], NotAfter: v[2], Until: protocol.Time(scale.Micro(v[2] + 1)), Since: since, Renewed: renewed,
	}, nil
}

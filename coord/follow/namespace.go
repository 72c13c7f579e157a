package follow

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Namespace makes the namespace of next go on where that of prev has ended, so that nothing
// that next issues is equal to what prev has issued, and all of it is above. Next must be
// a [coord.Admin] with a new namespace, and prev one with the old one. The layout of both is that
// of s. Namespace returns the floor: next grants only what lies above it. Worker IDs that are
// retired in prev are retired in next; what they have issued may be above.
//
// Namespace closes prev: its floor becomes the end of the layout, so
// that nothing is granted or extended in it, not even for a generator that was paused all
// the while, for as long as its back end remembers that. A back end that is emptied
// afterwards, or a namespace that is deleted, remembers nothing: a generator that was
// forgotten makes it again, and issues what next issues. So take the old generators' rights
// or their URL away before the data, and the data only when none of them can come back.
//
// All generators of prev must have stopped, and those of next must start only after
// Namespace has returned nil. Namespace looks whether they do, before and after it raises
// the floors, and returns an error that wraps [coord.ErrInvalid] if not; while worker IDs
// of prev are held, it is a [*HeldError]. If the layouts differ, the error wraps
// [coord.ErrLayoutMismatch]. Any other error is that of a back end. Where prev was declared with
// a longer [coord.Space.MaxHorizon] than next has, the error wraps [coord.ErrInvalid] until the
// last window of prev is as near as next's own reach: next could lose its floor, and would wait
// for those alone.
//
// Unless Namespace has returned nil, the namespace of next must not be used; calling
// Namespace again with both is safe and finishes what was begun. Namespace blocks for as
// long as the back ends need.
func Namespace(ctx context.Context, next, prev coord.Coordinator, s coord.Space) (floor time.Time, err error) {
	m, err := newMove(next, prev, s)
	if err != nil {
		return time.Time{}, err
	}
	end, err := EndOf(ctx, prev, s)
	if err != nil {
		return time.Time{}, err
	}
	if err := m.checkHorizon(end); err != nil {
		return time.Time{}, err
	}
	if err := m.declare(ctx); err != nil {
		return time.Time{}, err
	}
	if err := m.checkBegun(ctx, end); err != nil {
		return time.Time{}, err
	}
	if _, err := m.raise(ctx, end); err != nil {
		return time.Time{}, err
	}
	// Whoever finds the new namespace in use has to take another one. So this is looked
	// at before the old one is closed, and again at the end.
	if err := m.checkUnused(ctx); err != nil {
		return time.Time{}, err
	}
	if err := m.closeOld(ctx); err != nil {
		return time.Time{}, err
	}
	// The old back end may have noticed only when it was closed that it has lost state.
	last, err := m.lookAgain(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if floor, err = m.raise(ctx, last); err != nil {
		return time.Time{}, err
	}
	// Between the declaration and the floor somebody can be granted what lies below it.
	// That shows afterwards: slots are never deleted.
	if err := m.checkUnused(ctx); err != nil {
		return time.Time{}, err
	}
	return floor, nil
}

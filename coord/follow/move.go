package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// move is one run of Namespace.
type move struct {
	next  coord.Admin
	prev  coord.Admin
	space coord.Space
}

// newMove reports whether next can follow prev.
func newMove(next, prev coord.Coordinator, s coord.Space) (*move, error) {
	n, ok := next.(coord.Admin)
	if !ok {
		return nil, fmt.Errorf("%w: the new namespace's coordinator cannot list, show and change it, so it cannot follow another; it must implement coord.Admin", coord.ErrInvalid)
	}
	p, err := adminOf(prev)
	if err != nil {
		return nil, err
	}
	return &move{next: n, prev: p, space: s}, nil
}

// declare declares the new namespace new, which an earlier run may have done already.
func (m *move) declare(ctx context.Context) error {
	retired, err := m.unused(ctx)
	if err != nil {
		return err
	}
	err = m.next.Init(ctx, m.space)
	if err != nil && retired && errors.Is(err, coord.ErrInvalid) && !errors.Is(err, coord.ErrLayoutMismatch) {
		// The worker IDs that an earlier run has retired are all that is there. That run
		// has declared it, but maybe with another horizon.
		if info, unknown := m.next.Inspect(ctx); unknown != nil {
			return unknown
		} else if info.MaxHorizon == m.space.MaxHorizon {
			return nil
		}
	}
	return err
}

// raise raises the floor of the new namespace and retires what is retired in the old one.
// The floor is never left at zero: it shows that the move has begun.
func (m *move) raise(ctx context.Context, end Ending) (time.Time, error) {
	want := max(m.tick(end.Until), 1)
	floor, err := m.raised(ctx, m.next, want)
	if err != nil {
		return time.Time{}, fmt.Errorf("raising the floor of the new namespace, which must not be used now: %w", err)
	}
	for _, id := range end.Retired {
		if err := m.next.Retire(ctx, id); err != nil {
			return time.Time{}, err
		}
	}
	return floor, nil
}

// closeOld closes the old namespace: it grants and extends nothing any more.
func (m *move) closeOld(ctx context.Context) error {
	if _, err := m.raised(ctx, m.prev, m.space.LastTick); err != nil {
		return fmt.Errorf("closing the old namespace: %w; the new one must not be used before this has been repeated", err)
	}
	return nil
}

// raised raises a floor to a tick and checks that it is there.
func (m *move) raised(ctx context.Context, a coord.Admin, tick int64) (time.Time, error) {
	floor, err := a.Quarantine(ctx, m.timeOf(tick))
	if err == nil && m.tick(floor) < tick {
		err = fmt.Errorf("coord: the floor was to be raised to %v and is %v", m.timeOf(tick), floor)
	}
	return floor, err
}

// tick returns the tick that a time lies in.
func (m *move) tick(t time.Time) int64 { return m.space.Scale.Tick(t.UnixMicro()) }

// timeOf returns when a tick begins.
func (m *move) timeOf(tick int64) time.Time { return time.UnixMicro(m.space.Scale.Micro(tick)).UTC() }

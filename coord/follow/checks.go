package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// usualHorizon is at least as far as windows reach ahead, where no longer horizon was
// declared.
const usualHorizon = 2 * time.Minute

// checkBegun reports whether the new namespace may follow an old one that is closed.
// Closing overwrites the old floor; only the successor records that the move began, by a
// floor that was asked for. One that a loss has raised says nothing.
func (m *move) checkBegun(ctx context.Context, end Ending) error {
	if !end.Closed {
		return nil
	}
	info, err := m.next.Inspect(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the floor of the new namespace cannot be read: %w", err)
	case !info.Base.IsZero():
		return nil
	}
	return fmt.Errorf("%w: the old namespace is closed, because another one follows it; continue with that one; if nobody ever used that one, declare a new one with Init and raise its floor with Quarantine to where the last window of the old one ends, at %s, or to %v from now if that is later", coord.ErrInvalid, end.Until.UTC().Format(time.RFC3339Nano), max(usualHorizon, end.MaxHorizon))
}

// checkHorizon reports whether the new namespace protects the windows of the old one also when
// its back end loses the floor that keeps it above them: after a loss it waits for as long as
// its own windows reach, and those of a namespace that was declared with more reach further.
func (m *move) checkHorizon(end Ending) error {
	own := usualHorizon
	if d, ok := m.next.(coord.Describer); ok {
		own = d.Describe().Rules.MaxHorizon
	}
	own = max(own, m.space.MaxHorizon)
	last := end.lost
	if end.Furthest.Until.After(last) {
		last = end.Furthest.Until
	}
	if end.MaxHorizon <= own || !last.After(time.UnixMicro(clock.System().UnixMicro()).Add(own)) {
		return nil
	}
	return fmt.Errorf("%w: the old namespace was declared with windows of up to %v, and its last one ends at %s; the new one, which has windows of up to %v, can follow it from %s on; or declare the new one with %v too",
		coord.ErrInvalid, end.MaxHorizon, last.UTC().Format(time.RFC3339Nano), own, last.Add(-own).UTC().Format(time.RFC3339Nano), end.MaxHorizon)
}

// unused returns an error if anything was ever granted in the new namespace. It reports
// whether there are worker IDs that were retired without having been granted.
func (m *move) unused(ctx context.Context) (retired bool, err error) {
	slots, err := m.next.List(ctx)
	if err != nil {
		return false, fmt.Errorf("not all worker IDs of the new namespace can be read: %w", err)
	}
	var used []coord.Slot
	for _, s := range slots {
		if s.State != coord.SlotRetired || s.NotAfter > 0 {
			used = append(used, s)
		}
	}
	if len(used) > 0 {
		return false, fmt.Errorf("%w: the new namespace is in use: these worker IDs were granted in it already: %s", coord.ErrInvalid, nameSlots(used))
	}
	return len(slots) > 0, nil
}

// checkUnused reports whether somebody was granted a worker ID of the new namespace while
// the floor was being raised.
func (m *move) checkUnused(ctx context.Context) error {
	if _, err := m.unused(ctx); err != nil {
		return fmt.Errorf("looking at the new namespace again: %w; stop its generators: their IDs may come twice; then move to another namespace", err)
	}
	return nil
}

// lookAgain returns how far the old namespace has come in the end.
func (m *move) lookAgain(ctx context.Context) (Ending, error) {
	last, err := endOf(ctx, m.prev, m.space)
	if err == nil && !last.Closed {
		err = fmt.Errorf("%w: it was closed and is open again", coord.ErrInvalid)
	}
	if err != nil {
		return Ending{}, fmt.Errorf("looking at the old namespace again: %w; the new namespace must not be used before this has been repeated", err)
	}
	return last, nil
}

package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Ending is how far a namespace has come whose generators have stopped.
type Ending struct {
	// Until is the end of the last window, or the floor if that is later: the namespace
	// has issued nothing with a later time, apart from retired worker IDs.
	Until time.Time
	// Furthest is the slot whose window ends last; the zero Slot if all are retired.
	Furthest coord.Slot
	// Retired are the worker IDs that are retired, in ascending order. Their windows do
	// not count for Until: a window that a wrong clock has pushed far into the future
	// would stop whoever has to wait for its end.
	Retired []int
	// Closed reports that [Namespace] has closed the namespace, and that its back end
	// still knows it. Its floor then says nothing: what counts beside the windows is only
	// what its back end may have forgotten, see [coord.Namespace].
	Closed bool
	// MaxHorizon is what the namespace was declared with, see [coord.Space]; 0: the horizon of
	// its driver.
	MaxHorizon time.Duration
	// lost is where the last window can end that the back end has forgotten; zero: none was.
	lost time.Time
	// slots are all of them, to see whether anything happens later.
	slots []coord.Slot
}

// EndOf returns how far the namespace of c has come. It must have the layout of s, and c must be a
// [coord.Admin].
//
// If worker IDs are held, the error is a [*HeldError]. Other errors wrap
// [coord.ErrLayoutMismatch] or [coord.ErrInvalid] if what was found forbids that the
// namespace is followed. That includes a namespace without slots, because most likely it is
// not the one that was meant.
//
// EndOf only reads. It blocks for as long as the back end needs, and may be called while
// generators run.
func EndOf(ctx context.Context, c coord.Coordinator, s coord.Space) (Ending, error) {
	if err := checkSpace(s); err != nil {
		return Ending{}, err
	}
	admin, err := adminOf(c)
	if err != nil {
		return Ending{}, err
	}
	return endOf(ctx, admin, s)
}

// adminOf returns an old namespace as one that can be listed and closed.
func adminOf(c coord.Coordinator) (coord.Admin, error) {
	if a, ok := c.(coord.Admin); ok {
		return a, nil
	}
	return nil, fmt.Errorf("%w: the coordinator cannot list its worker IDs; it must implement coord.Admin", coord.ErrInvalid)
}

func endOf(ctx context.Context, c coord.Admin, s coord.Space) (Ending, error) {
	slots, err := c.List(ctx)
	switch {
	case err != nil:
		return Ending{}, fmt.Errorf("not all worker IDs can be read: %w", err)
	case len(slots) == 0:
		return Ending{}, fmt.Errorf("%w: no worker ID was ever granted in this namespace, so there is nothing to follow; check its name", coord.ErrInvalid)
	}
	end, err := endOfWindows(slots, s)
	if err != nil {
		return Ending{}, err
	}
	if err := end.addFloor(ctx, c, s); err != nil {
		return Ending{}, err
	}
	return end, nil
}

// endOfWindows returns how far slots have come, none of which may be held.
func endOfWindows(slots []coord.Slot, s coord.Space) (Ending, error) {
	// Whatever was issued has a time after the epoch.
	end := Ending{Until: time.UnixMicro(s.Scale.Micro(0)).UTC(), slots: slots}
	var held []coord.Slot
	for _, slot := range slots {
		if err := checkSlot(slot, s); err != nil {
			return Ending{}, err
		}
		switch slot.State {
		case coord.SlotHeld:
			held = append(held, slot)
		case coord.SlotRetired:
			end.Retired = append(end.Retired, slot.WorkerID)
		default:
			if !slot.Until.Before(end.Until) {
				end.Until, end.Furthest = slot.Until, slot
			}
		}
	}
	if len(held) > 0 {
		return Ending{}, &HeldError{Slots: held}
	}
	return end, nil
}

// addFloor takes the floor of the namespace into account: below it there may be windows
// that the back end has forgotten.
func (e *Ending) addFloor(ctx context.Context, c coord.Admin, s coord.Space) error {
	info, err := c.Inspect(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("its floor cannot be read: %w", err)
	case info.Layout == "":
		return fmt.Errorf("%w: the namespace to be followed has worker IDs, but its own record is gone, and its floor with it; restore that from a backup", coord.ErrInvalid)
	case info.Layout != s.Fingerprint:
		return fmt.Errorf("the namespace to be followed: %w", mismatch(info.Layout, s))
	}
	e.Closed, e.MaxHorizon, e.lost = info.Closed, info.MaxHorizon, info.Lost
	floor := info.Floor
	if info.Closed { // then it is the end of the layout
		floor = info.Lost
	}
	if floor.After(e.Until) {
		e.Until = floor
	}
	return nil
}

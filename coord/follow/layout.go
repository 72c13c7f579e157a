package follow

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// checkSpace reports whether s can be that of a layout.
func checkSpace(s coord.Space) error {
	if s.Fingerprint == "" || s.Scale.Unit <= 0 || s.LastTick <= 0 || s.Capacity <= 0 {
		return fmt.Errorf("%w: Space is %+v; it is what core.Layout.Space returns", coord.ErrInvalid, s)
	}
	return nil
}

// checkSlot reports whether a slot of the old namespace is one of layout s. If its
// fingerprint is not stored, the tick and the time of the window's end show unit and epoch;
// the widths of the fields cannot be checked then.
func checkSlot(slot coord.Slot, s coord.Space) error {
	switch {
	case slot.Layout != "" && slot.Layout != s.Fingerprint:
		return fmt.Errorf("worker ID %d of the namespace to be followed: %w", slot.WorkerID, mismatch(slot.Layout, s))
	case slot.Layout == "" && slot.NotAfter > 0 && s.Scale.Tick(slot.Until.UnixMicro()) != slot.NotAfter+1:
		return fmt.Errorf("worker ID %d of the namespace to be followed: %w: its window ends with tick %d at %s, which has another number in layout %s; IDs of two layouts can be equal",
			slot.WorkerID, coord.ErrLayoutMismatch, slot.NotAfter, slot.Until.UTC().Format(time.RFC3339Nano), s.Fingerprint)
	case slot.WorkerID >= s.Capacity:
		return fmt.Errorf("%w: the namespace to be followed has worker ID %d; the layout has worker IDs 0 to %d", coord.ErrInvalid, slot.WorkerID, s.Capacity-1)
	}
	return nil
}

// mismatch is the error of an old namespace, or a slot of it, with another layout than s.
func mismatch(stored string, s coord.Space) error {
	return fmt.Errorf("%w: it has layout %s, the new namespace %s; IDs of two layouts can be equal", coord.ErrLayoutMismatch, stored, s.Fingerprint)
}

package follow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Ending is how far a namespace has come whose generators have stopped.
type Ending struct {
	// Until is the end of the last window, or the floor if that is later: the namespace
	// has issued nothing with a later time, apart from retired worker IDs.
	Until      time.Time
	Furthest   coord.Slot    // whose window ends last; the zero Slot if all are retired
	Retired    []int         // worker IDs, in ascending order; their windows do not count for Until
	Closed     bool          // [Namespace] has closed it: what counts beside windows is what is lost
	MaxHorizon time.Duration // as in [coord.Space]

	lost  time.Time // where the last window can end that was forgotten; zero: none was
	nonce string    // of the namespace
}

// EndOf returns how far the namespace of c has come. It must have the layout of s, and c must be a
// [coord.AdminCoordinator].
//
// If worker IDs are held, the error is a [*HeldError], unless the namespace is closed: their
// windows do not grow any more, and count as those of the others do. Other errors wrap
// [coord.ErrLayoutMismatch] or [coord.ErrInvalid] if what was found forbids that the namespace
// is followed, as one without slots, which is probably not the one that was meant. EndOf only
// reads, blocks for as long as the back end needs, and may be called while generators run.
func EndOf(ctx context.Context, c coord.Coordinator, s coord.Space) (Ending, error) {
	if s.Fingerprint == "" || s.Scale.Unit <= 0 || s.LastTick <= 0 || s.Capacity <= 0 {
		return Ending{}, invalid("Space is %+v; it is what core.Layout.Space returns", s)
	}
	admin, ok := c.(coord.AdminCoordinator)
	if !ok {
		return Ending{}, invalid("the coordinator cannot list its worker IDs; it must implement " +
			"coord.AdminCoordinator")
	}
	slots, err := admin.List(ctx)
	if err != nil {
		return Ending{}, fmt.Errorf("not all worker IDs can be read: %w", err)
	}
	info, err := admin.Inspect(ctx)
	if err == nil && info.Closed { // no window grows after that
		if slots, err = admin.List(ctx); err != nil {
			return Ending{}, fmt.Errorf("not all worker IDs can be read: %w", err)
		}
	}
	switch {
	case err != nil:
		return Ending{}, fmt.Errorf("its floor cannot be read: %w", err)
	case len(slots) == 0:
		return Ending{}, invalid("no worker ID was ever granted in this namespace, so there is nothing " +
			"to follow; check its name")
	case info.Layout == "":
		return Ending{}, invalid("the namespace to be followed has worker IDs, but its own record is " +
			"gone, and its floor with it; restore that from a backup")
	case info.Layout != s.Fingerprint:
		return Ending{}, fmt.Errorf("the namespace to be followed: %w: it has layout %s, the new "+
			"namespace %s; IDs of two layouts can be equal",
			coord.ErrLayoutMismatch, info.Layout, s.Fingerprint)
	}
	end := Ending{
		Closed: info.Closed, MaxHorizon: info.MaxHorizon, lost: info.Lost, nonce: info.Nonce,
		Until: time.UnixMicro(s.Scale.Micro(0)).UTC(), // whatever was issued is later
	}
	held := &HeldError{}
	for _, slot := range slots {
		switch {
		case slot.State == coord.SlotHeld && !info.Closed: //mutant:follow-closed
			held.Slots = append(held.Slots, slot)
		case slot.State == coord.SlotRetired:
			end.Retired = append(end.Retired, slot.WorkerID)
		case !slot.Until.Before(end.Until):
			end.Until, end.Furthest = slot.Until, slot
		}
	}
	if len(held.Slots) > 0 { //mutant:follow-held
		return Ending{}, held
	}
	floor := info.Floor
	if info.Closed { // then it is the end of the layout
		floor = info.Lost //mutant:follow-lost
	}
	if floor.After(end.Until) {
		end.Until = floor
	}
	return end, nil
}

// invalid is a [coord.ErrInvalid] with a text.
func invalid(text string, values ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{coord.ErrInvalid}, values...)...)
}

// HeldError says that a namespace cannot be followed because worker IDs of it are held.
// It is a [coord.ErrInvalid].
type HeldError struct {
	Slots []coord.Slot // those that are held, in the order of worker IDs
}

// Error names the worker IDs and who holds them; of many, the first ones.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: these worker IDs are held: %s; stop the generators first, and wait until "+
		"the leases of those that crashed have ended", coord.ErrInvalid, nameSlots(e.Slots))
}

// Unwrap returns [coord.ErrInvalid].
func (e *HeldError) Unwrap() error { return coord.ErrInvalid }

// nameSlots lists worker IDs with who holds them, or held them last.
func nameSlots(slots []coord.Slot) string {
	const most = 8
	var names []string
	for _, s := range slots[:min(len(slots), most)] {
		names = append(names, fmt.Sprintf("%d (by %q)", s.WorkerID, s.Holder))
	}
	if n := len(slots) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

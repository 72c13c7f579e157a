package follow

import (
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/coord"
)

// HeldError says that a namespace cannot be followed because worker IDs of it are held.
// It is a [coord.ErrInvalid].
type HeldError struct {
	Slots []coord.Slot // those that are held, in the order of worker IDs
}

// Error names the worker IDs and who holds them; of many, the first ones.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: these worker IDs are held: %s; stop the generators first, and wait until the leases of those that crashed have ended", coord.ErrInvalid, nameSlots(e.Slots))
}

// Unwrap returns [coord.ErrInvalid].
func (e *HeldError) Unwrap() error { return coord.ErrInvalid }

// nameSlots lists worker IDs with who holds them, or held them last.
func nameSlots(slots []coord.Slot) string {
	const most = 8
	var names []string
	for i, s := range slots {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(slots)-most))
			break
		}
		names = append(names, fmt.Sprintf("%d (by %q)", s.WorkerID, s.Holder))
	}
	return strings.Join(names, ", ")
}

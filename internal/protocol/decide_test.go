package protocol

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestPlanRetire: who holds the worker ID loses it, and one that was retired already keeps its
// mark, or gets it again.
func TestPlanRetire(t *testing.T) {
	meta := Entry[Meta]{Made: 1, Record: Meta{Capacity: 4}}
	held := Entry[Slot]{Made: 1, Record: Slot{Worker: 2, Generation: 5, Token: "t"}}
	retired := Entry[Slot]{Made: 1, Record: Slot{Worker: 2, Generation: 5, Retired: true}}
	for _, tt := range []struct {
		v          View
		generation uint64 // that is stored; 0: none is
		already    bool
		err        error
	}{
		{View{Meta: meta, Slot: held, Owned: true}, 6, false, nil},
		{View{Meta: meta, Slot: retired, Owned: true}, 0, true, nil},
		{View{Meta: meta, Slot: retired}, 0, false, nil},
		{View{}, 0, false, coord.ErrInvalid},
	} {
		change, already, err := planRetire(&tt.v, 2, 1)
		if stored := change.Slot; already != tt.already || !errors.Is(err, tt.err) ||
			(stored != nil) != (tt.generation != 0) || stored != nil && stored.Generation != tt.generation {
			t.Errorf("of %+v: %+v, %t, %v", tt.v, change, already, err)
		}
	}
}

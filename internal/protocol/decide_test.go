package protocol

import "testing"

// TestPlanRetire: a worker ID that was retired, and whose mark is gone, gets it again.
func TestPlanRetire(t *testing.T) {
	v := &View{
		Meta: Entry[Meta]{Made: 1, Record: Meta{Capacity: 4}},
		Slot: Entry[Slot]{Made: 1, Record: Slot{Worker: 2, Generation: 5, Retired: true}},
	}
	if change, already, err := planRetire(v, 2, 1); err != nil || already || change.Slot != nil || change.Owner != OwnerForever {
		t.Errorf("%+v, %v, %v", change, already, err)
	}
}

package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// ReplayBelowTheFloor raises the floor when the answer to a grant has not arrived, and
// before the request is made again. What was granted is given up: if the floor was raised
// because windows were lost, it may overlap with one of them. Connect returns coordinators
// of a new namespace.
func ReplayBelowTheFloor(t *testing.T, connect func() coord.Coordinator) {
	t.Helper()
	first, req := connect(), Request(1)
	unknown := MustAcquire(t, first, req)
	floor := TickNow() + time.Minute.Milliseconds()
	RaiseFloor(t, first.(coord.Admin), floor)
	if again := MustAcquire(t, connect(), req); again.NotBefore < floor {
		t.Errorf("%v was granted again with the floor at %d", again, floor)
	}
	if h, err := first.Renew(Within(t), unknown, unknown.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, which was given up: %v, %v; want %v", unknown, h, err, coord.ErrLeaseLost)
	}
}

// PoisonedSlot is for a namespace whose worker ID 0 is free, with a window that reaches
// further than any right clock can have pushed it. It is not granted while there are
// others, and named when there are none.
func PoisonedSlot(t *testing.T, c coord.Coordinator) {
	t.Helper()
	for range 3 {
		if g := MustAcquire(t, c, Request(4)); g.WorkerID == 0 {
			t.Errorf("%v was granted, with others free", g)
		}
	}
	_, err := c.Acquire(Within(t), Request(4))
	WantInvalid(t, "Acquire with the poisoned one alone", err, "worker ID 0", "retire")
	if err := c.(coord.Admin).Retire(Within(t), 0); err != nil {
		t.Fatal(err)
	}
	if g, err := c.Acquire(Within(t), Request(4)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("Acquire after it was retired: %v, %v; want %v", g, err, coord.ErrNoWorkerID)
	}
}

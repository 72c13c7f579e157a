package follow_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
)

func TestFollow(t *testing.T) {
	prev := existing().add(0, coord.SlotFree, 500).add(3, coord.SlotRetired, 1<<40).add(7,
		coord.SlotFree, 900)
	next := &ledger{}
	for range 2 { // repeating it is safe
		floor, err := follow.Namespace(t.Context(), next, prev, followSpace())
		if err != nil || !next.from(901) || !floor.Equal(next.micro(next.floor)) {
			t.Fatalf("Follow: %v, %v; the floor is %d, want 901", floor, err, next.floor)
		}
		if len(next.slots) != 1 || next.slots[0].WorkerID != 3 ||
			next.slots[0].State != coord.SlotRetired {
			t.Fatalf("slots of the new namespace: %+v; want worker ID 3 retired", next.slots)
		}
	}
	if want := followSpace().LastTick; prev.floor != want {
		t.Errorf("the floor of the old namespace is %d; it is closed at %d", prev.floor, want)
	}
	// A namespace can follow several.
	other := existing().add(0, coord.SlotFree, 700)
	other.nonce = "other"
	for range 2 {
		if _, err := follow.Namespace(t.Context(), next, other, followSpace()); err != nil ||
			next.floor < 901 || next.floor > 2901 {
			t.Errorf("following a second one: %v, floor %d; want 901", err, next.floor)
		}
	}
}

// TestEndOf_SlotsOfAClosedNamespaceAreReadAfterIt: a window that grew before the namespace was
// closed counts.
func TestEndOf_SlotsOfAClosedNamespaceAreReadAfterIt(t *testing.T) {
	prev := existing().add(0, coord.SlotHeld, 500)
	prev.before = func(call string, _ int) error {
		if call == "Inspect" { // between the list and that, others have renewed and closed it
			prev.slots[0].NotAfter, prev.slots[0].Until = 900, prev.micro(901)
			prev.floor = prev.space.LastTick
		}
		return nil
	}
	if end, err := follow.EndOf(t.Context(), prev, followSpace()); err != nil ||
		!end.Until.Equal(prev.micro(901)) {
		t.Errorf("EndOf: %+v, %v; want the end of tick 900", end, err)
	}
}

// TestFollowFloor: what the old back end has forgotten lies below its floor, and after
// it was closed only the new namespace knows of it.
func TestFollowFloor(t *testing.T) {
	prev := existing().add(0, coord.SlotFree, 500)
	prev.floor = 5000
	next := &ledger{}
	for range 2 {
		if floor, err := follow.Namespace(t.Context(), next, prev, followSpace()); err != nil ||
			!floor.Equal(next.micro(next.floor)) || !next.from(5001) {
			t.Errorf("following a floor at the end of tick 5000: %v, %v, floor %d; want 5001", floor, err,
				next.floor)
		}
	}
	unlucky := existing() // a loss has raised its floor, nobody has asked for that
	unlucky.floor, unlucky.lost = 9000, 9000
	careful := existing() // an operator has raised its floor, and to nothing else than a move would
	careful.nonce, careful.floor, careful.base = "other", next.floor, next.floor
	for what, stranger := range map[string]*ledger{
		"new": {}, "that has lost something": unlucky,
		"in quarantine": careful,
	} {
		if _, err := follow.Namespace(t.Context(), stranger, prev, followSpace()); !errors.Is(err,
			coord.ErrInvalid) || !strings.Contains(err.Error(), "the old namespace is closed") {
			t.Errorf("a second namespace, %s, follows it: %v", what, err)
		}
	}
}

func TestFollowRefuses(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name       string
		next, prev *ledger
		kind       error
		want       string
	}{
		{
			"held", &ledger{}, existing().add(0, coord.SlotFree, 5).add(4, coord.SlotHeld, 9),
			coord.ErrInvalid, `these worker IDs are held: 4 (by "host:1"); stop the generators first`,
		},
		{
			"empty", &ledger{}, existing(), coord.ErrInvalid,
			"no worker ID was ever granted in this namespace",
		},
		{"unreadable", &ledger{}, func() *ledger {
			l := existing().add(0, coord.SlotFree, 5)
			l.unreadable = broken
			return l
		}(), broken, "not all worker IDs can be read"},
		{
			"used", existing().add(2, coord.SlotFree, 5), existing().add(0, coord.SlotFree, 5),
			coord.ErrInvalid, `the new namespace is in use: these worker IDs were granted in it ` +
				`already: 2 ` +
				`(by "host:1")`,
		},
		{
			"used and retired", existing().add(2, coord.SlotRetired, 5),
			existing().add(0, coord.SlotFree, 5), coord.ErrInvalid, "the new namespace is in use",
		},
		{
			"layout", &ledger{}, alien(), coord.ErrLayoutMismatch,
			"it has layout other, the new namespace f",
		},
		{
			"no record", &ledger{}, &ledger{slots: existing().add(0, coord.SlotFree, 5).slots},
			coord.ErrInvalid, "its own record is gone",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := follow.Namespace(t.Context(), tt.next, tt.prev, followSpace())
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Follow: %v; want %v, with %q", err, tt.kind, tt.want)
			}
			if slices.Contains(tt.next.calls, "Init") || slices.Contains(tt.next.calls, "Quarantine") {
				t.Errorf("the new namespace was changed: %v", tt.next.calls)
			}
		})
	}
	var held *follow.HeldError
	prev := existing()
	for id := range 12 {
		prev.add(id, coord.SlotHeld, 9)
	}
	if _, err := follow.EndOf(t.Context(), prev, followSpace()); !errors.As(err, &held) ||
		len(held.Slots) != 12 || !strings.Contains(err.Error(), "and 4 more") {
		t.Errorf("EndOf with 12 held: %v", err)
	}
}

func TestFollowNeedsInterfaces(t *testing.T) {
	var plain struct{ coord.Coordinator }
	wantInvalid := func(what, want string, next, prev coord.Coordinator) {
		t.Helper()
		if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); !errors.Is(err,
			coord.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	full := existing().add(0, coord.SlotFree, 5)
	wantInvalid("a new namespace that cannot be changed", "it must implement "+
		"coord.AdminCoordinator", plain, full)
	wantInvalid("an old namespace that cannot be listed", "cannot list its worker IDs", &ledger{},
		plain)
	if n := full.writes(); n != 0 {
		t.Errorf("%d writes to a namespace that cannot be moved: %v", n, full.calls)
	}
	if _, err := follow.Namespace(t.Context(), &ledger{}, existing().add(0, coord.SlotFree, 5),
		coord.Space{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("no layout: %v", err)
	}
}

// alien is an old namespace with another layout.
func alien() *ledger {
	l := existing().add(0, coord.SlotFree, 5)
	l.space.Fingerprint = "other"
	return l
}

// TestFollowNewLayout: the new namespace has another layout, also where worker IDs are retired in
// it: neither does it pass for one that an earlier run has declared.
func TestFollowNewLayout(t *testing.T) {
	for _, slots := range [][]coord.Slot{nil, {{WorkerID: 3, State: coord.SlotRetired}}} {
		next := alien()
		next.slots = slots
		if _, err := follow.Namespace(t.Context(), next, existing().add(0, coord.SlotFree, 5),
			followSpace()); !errors.Is(err, coord.ErrLayoutMismatch) {
			t.Errorf("with %v: %v", slots, err)
		}
	}
}

// TestFollowSeesOthers: whoever is granted a worker ID while the namespace moves is
// found out, at every step.
func TestFollowSeesOthers(t *testing.T) {
	for _, tt := range []struct {
		call string
		n    int
	}{
		{"Init", 1},
		{"Quarantine", 1},
		{"Retire", 1},
		{"List", 2},
		{"Quarantine", 2},
		{"Retire", 2},
		{"List", 3},
	} {
		prev := existing().add(0, coord.SlotFree, 500).add(3, coord.SlotRetired, 600)
		next := existing()
		next.before = func(call string, n int) error {
			if call == tt.call && n == tt.n {
				next.add(5, coord.SlotHeld, 499)
			}
			return nil
		}
		if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); !errors.Is(err,
			coord.ErrInvalid) {
			t.Errorf("a grant in the new namespace before %s: %v; want it to be noticed", tt.call, err)
		}
		if early := tt.n == 1 || tt.call == "List" && tt.n == 2; early && prev.floor != 0 {
			t.Errorf("a grant in the new namespace before %s: the old one was closed all the same", tt.call)
		}
	}
}

// TestFollowSeesReturn: a generator of the old namespace that comes back while it
// moves is noticed, or followed as far as it got.
func TestFollowSeesReturn(t *testing.T) {
	for what, tt := range map[string]struct {
		change  func(*ledger)
		floor   int64 // where the old namespace is closed; 0: it is refused
		retired int
	}{
		"held": {change: func(l *ledger) {
			l.slots[0].State, l.slots[0].NotAfter, l.slots[0].Until = coord.SlotHeld, 900, l.micro(901)
		}, floor: 901},
		"released": {change: func(l *ledger) { l.slots[0].Generation = 2 }, floor: 501},
		"extended": {change: func(l *ledger) {
			l.slots[0].NotAfter++
			l.slots[0].Until = l.micro(502)
		}, floor: 502},
		"another": {change: func(l *ledger) { l.add(1, coord.SlotFree, 600) }, floor: 601},
		"retired": {change: func(l *ledger) {
			l.slots[0].State = coord.SlotRetired
		}, floor: 501, retired: 1},
		"reopened": {change: func(l *ledger) { l.floor = 0 }},
	} {
		prev, next := existing().add(0, coord.SlotFree, 500), &ledger{}
		prev.before = func(call string, n int) error {
			if call == "List" && n == 2 {
				tt.change(prev)
			}
			return nil
		}
		_, err := follow.Namespace(t.Context(), next, prev, followSpace())
		if tt.floor != 0 {
			if err != nil || !next.from(tt.floor) || len(next.slots) != tt.retired {
				t.Errorf("%s meanwhile: %v, floor %d, slots %v; want floor %d", what, err, next.floor,
					next.slots, tt.floor)
			}
		} else if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(),
			"closing the old namespace") {
			t.Errorf("%s meanwhile: %v; want it to be noticed", what, err)
		}
	}
}

// TestFollowInterrupted: whatever call fails, before or after it has had its effect,
// the error is reported, and repeating finishes the work.
func TestFollowInterrupted(t *testing.T) {
	broken := errors.New("broken")
	for _, call := range []string{"List", "Inspect", "Init", "Quarantine", "Retire"} {
		for _, side := range []string{"next", "prev"} {
			prev := existing().add(0, coord.SlotFree, 500).add(3, coord.SlotRetired, 600)
			next := &ledger{}
			failing := map[string]*ledger{"next": next, "prev": prev}[side]
			for n := 1; ; n++ {
				failed := false
				failing.calls = nil
				failing.before = func(c string, k int) error {
					if c == call && k == n {
						failed = true
						return broken
					}
					return nil
				}
				_, err := follow.Namespace(t.Context(), next, prev, followSpace())
				if !failed && err == nil {
					break
				}
				if !errors.Is(err, broken) {
					t.Fatalf("call %d of %s on %s fails, and Follow returns %v", n, call, side, err)
				}
			}
			if !next.from(501) || len(next.slots) != 1 {
				t.Errorf("after failures of %s on %s: floor %d, slots %v", call, side, next.floor, next.slots)
			}
		}
	}
}

// TestFollowLoss: an old back end that has lost windows, and notices it only when it is
// closed, says nothing of it by its floor any more.
func TestFollowLoss(t *testing.T) {
	prev, next := existing().add(0, coord.SlotFree, 500), &ledger{}
	prev.noticed = func() { prev.lost, prev.floor = 7000, 7000 }
	for range 2 {
		if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); err != nil ||
			!next.from(7001) {
			t.Errorf("windows up to tick 7000 are lost: %v, floor %d; want 7001", err, next.floor)
		}
	}
}

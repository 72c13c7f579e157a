package drivertest

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// Stored is what a back end stores for worker ID 0.
type Stored struct {
	Name string // that an error must say
	Get  func() string
	Put  func(string)
	// Part says that only some fields of the slot are there: damage to others is skipped.
	Part bool
}

// Damage spoils what is stored, and is what an error must say then.
type Damage struct {
	Spoil func(string) string
	Says  string
}

// Replace replaces the first old by new.
func Replace(old, new string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, new, 1) }
}

// DamagedSlots spoils a slot, each time in a new namespace: the slot is refused with its name and
// stays as it is, and the other slots are as good as before. More is what the slots of one back
// end alone have; how a record can be damaged, the tests of package protocol say.
func DamagedSlots(t *testing.T, namespace func(t *testing.T) (coord.Coordinator, Stored),
	more map[string]Damage,
) {
	all := map[string]Damage{
		"truncated": {Spoil: func(s string) string { return s[:len(s)/2] }, Says: "truncated"},
	}
	maps.Copy(all, more)
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			c, slot := namespace(t)
			for id := range 2 {
				req := Request(2)
				req.Workers = coord.Range{First: id, Count: 1}
				g := MustAcquire(t, c, req)
				if err := c.Release(Within(t), g, g.NotBefore+2); err != nil {
					t.Fatalf("the release of %v: %v", g, err)
				}
			}
			bad := d.Spoil(slot.Get())
			if slot.Part && bad == slot.Get() {
				t.Skip("skipped: the field lies elsewhere")
			}
			slot.Put(bad)
			g, err := c.Acquire(Within(t), Request(1))
			WantInvalid(t, "Acquire", err, d.Says, slot.Name)
			if now := slot.Get(); now != bad {
				safetytest.Of(t).Errorf("%v was granted, and the slot overwritten: %s; it was %s", g, now, bad)
			}
			list, err := c.(coord.AdminCoordinator).List(Within(t))
			if !errors.Is(err, coord.ErrInvalid) || len(list) != 1 || list[0].WorkerID != 1 {
				t.Errorf("List: %v, %v; want the other slot, and an error", list, err)
			}
			if g := MustAcquire(t, c, Request(2)); g.WorkerID != 1 {
				safetytest.Of(t).Errorf("%v was granted; the slot of worker ID 0 is damaged", g)
			}
		})
	}
	// The holder goes on inside its window, because nothing is definite.
	t.Run("while held", func(t *testing.T) {
		c, slot := namespace(t)
		g := MustAcquire(t, c, Request(1))
		slot.Put("{")
		if h, err := c.Renew(Within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrInvalid) ||
			errors.Is(err, coord.ErrLeaseLost) {
			safetytest.Unless(t, err).Errorf("Renew: %v, %v; want %v", h, err, coord.ErrInvalid)
		}
		if err := c.Release(Within(t), g, g.NotBefore); !errors.Is(err, coord.ErrInvalid) {
			safetytest.Unless(t, err).Errorf("Release: %v; want %v", err, coord.ErrInvalid)
		}
	})
}

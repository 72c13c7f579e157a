package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// heldView is a slot with a window from tick 100 to 200, in a namespace with a floor.
func heldView(floor int64) *View {
	return &View{
		Meta:  Entry[Meta]{Made: 1, Version: 1, Record: Meta{Capacity: 4, LastTick: 1000, Floor: floor}},
		Slot:  Entry[Slot]{Made: 1, Version: 1, Record: Slot{Worker: 2, Token: "a", Generation: 5, Opened: 100, NotBefore: 100, NotAfter: 200, LastTick: 1000, TTL: 1}},
		Owned: true,
	}
}

func TestPlanRetire(t *testing.T) {
	retired := func(owned bool) *View {
		v := heldView(0)
		v.Slot.Record.Token, v.Slot.Record.Retired, v.Owned = "", true, owned
		return v
	}
	if change, already, err := planRetire(heldView(0), 2, 1); err != nil || already || change.Slot == nil || !change.Slot.Retired || change.Slot.Generation != 6 || change.Owner != OwnerForever {
		t.Errorf("of a holder: %+v, %v, %v", change, already, err)
	}
	if _, already, err := planRetire(retired(true), 2, 1); err != nil || !already {
		t.Errorf("retired already: %v, %v", already, err)
	}
	if change, already, err := planRetire(retired(false), 2, 1); err != nil || already || change.Slot != nil || change.Owner != OwnerForever {
		t.Errorf("retired, and its owner mark is gone: %+v, %v, %v; want the mark again", change, already, err)
	}
	for name, v := range map[string]*View{"no namespace": {}, "beyond the layout": heldView(0)} {
		if _, _, err := planRetire(v, 4, 1); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ledger is one worker ID and everybody who ever had it. All that happens to its slot is
// what the plans say.
type ledger struct {
	view    *View
	holders []*holder
	tokens  int
	by      map[int64]int // who stamped a tick
}

// holder is somebody with windows: each grant or renewal may add one.
type holder struct {
	grant   coord.Grant
	windows []coord.Range // the ticks after First, so many
	last    int64         // stamped
	dead    bool
}

func (h *holder) gets(from, to int64) {
	h.windows = append(h.windows, coord.Range{First: int(from), Count: int(to - from)})
}

// FuzzWindows does things to a slot in any order, with any numbers, and looks whether a
// tick is stamped twice.
func FuzzWindows(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		steps := make([]byte, 300)
		for i := range steps {
			steps[i] = byte(r.Uint32())
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		l := &ledger{view: heldView(0), by: map[int64]int{}}
		l.view.Slot = Entry[Slot]{Record: Slot{Worker: 2}}
		for len(steps) >= 3 {
			l.step(t, steps[0], int64(steps[1])+int64(steps[2])%8*100)
			steps = steps[3:]
		}
	})
}

func (l *ledger) step(t *testing.T, what byte, tick int64) {
	slot := l.view.Slot.Record
	if len(l.holders) == 0 || what%8 == 0 { // the lease may end at any time
		l.tokens++
		cand := Candidate{ID: 2, Slot: slot}
		req := coord.Request{Token: fmt.Sprint(l.tokens), Until: tick, LastTick: 1000}
		if max(slot.NotAfter, l.view.Meta.Record.Floor) > 1000 {
			return
		}
		l.put(cand.Granted(l.view.Meta.Record, req, 0))
		l.holders = append(l.holders, &holder{grant: l.view.grant()})
		l.holders[len(l.holders)-1].gets(l.view.Slot.Record.NotBefore, l.view.Slot.Record.NotAfter)
		return
	}
	n := int(what/8) % len(l.holders)
	h := l.holders[n]
	switch what % 8 {
	case 1:
		l.view = l.at(func(v *View) { v.Meta.Record.Floor = max(v.Meta.Record.Floor, min(tick, 998)) })
	case 2:
		if l.view.holds(h.grant) && !h.dead {
			l.put(*planRelease(l.view, h.grant, max(h.last, 0)).Slot)
			h.dead = true
		}
	case 3: // by who knows that the holder is dead
		if l.view.holds(h.grant) {
			l.tokens++
			h.dead = true
			next := &holder{grant: h.grant, windows: h.windows, last: h.last}
			l.holders = append(l.holders, next)
			l.renew(t, next, fmt.Sprint(l.tokens), tick)
		}
	case 4, 5:
		if l.view.holds(h.grant) {
			l.renew(t, h, h.grant.Token, tick)
		}
	default:
		l.stamp(t, n, tick)
	}
}

func (l *ledger) at(change func(v *View)) *View {
	next := *l.view
	change(&next)
	return &next
}

func (l *ledger) put(s Slot) {
	l.view = l.at(func(v *View) { v.Slot = Entry[Slot]{Record: s, Made: 1, Version: v.Slot.Version + 1} })
}

func (l *ledger) renew(t *testing.T, h *holder, token string, until int64) {
	before := l.view.Slot.Record
	change, from, grows := planRenewal(l.view, h.grant, token, until, 0, true)
	if after := *change.Slot; after.NotAfter < before.NotAfter || after.NotBefore < before.NotBefore || (after.Generation != before.Generation) != (token != h.grant.Token) {
		t.Fatalf("renewed %+v to %+v", before, after)
	}
	l.put(*change.Slot)
	if token != h.grant.Token {
		h.grant.Token, h.grant.Generation = token, h.grant.Generation+1
	}
	if !grows {
		return
	}
	if from != h.grant.NotBefore && from < l.view.Meta.Record.Floor {
		t.Fatalf("a piece from %d, below the floor %d", from, l.view.Meta.Record.Floor)
	}
	h.grant.NotBefore, h.grant.NotAfter = from, change.Slot.NotAfter
	h.gets(from, change.Slot.NotAfter)
}

// stamp has a holder stamp a tick that it may.
func (l *ledger) stamp(t *testing.T, n int, number int64) {
	h := l.holders[n]
	for _, w := range h.windows {
		first := max(h.last+1, int64(w.First)+1)
		left := int64(w.First+w.Count) - first + 1
		if h.dead || left <= 0 {
			continue
		}
		tick := first + number%left
		if other, ok := l.by[tick]; ok && other != n {
			t.Fatalf("tick %d was stamped by %d and by %d, %+v", tick, other, n, l.view.Slot.Record)
		}
		l.by[tick], h.last = n, tick
		return
	}
}

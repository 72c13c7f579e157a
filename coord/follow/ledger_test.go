package follow_test

import (
	"context"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// ledger is a namespace in memory, as an operator sees it. Before a call it runs what
// a test has planned.
type ledger struct {
	coord.Coordinator // none
	space             *coord.Space
	slots             []coord.Slot
	floor, base, lost int64
	nonce             string
	noticed           func() // runs once, in the next write: a server that was restarted notices it
	calls             []string
	before            func(call string, n int) error // the n-th call of this name, from 1 on
	unreadable        error
}

func (l *ledger) call(name string) error {
	l.calls = append(l.calls, name)
	n := 0
	for _, c := range l.calls {
		if c == name {
			n++
		}
	}
	if l.before == nil {
		return nil
	}
	return l.before(name, n)
}

func (l *ledger) List(context.Context) ([]coord.Slot, error) {
	if err := l.call("List"); err != nil {
		return nil, err
	}
	return slices.Clone(l.slots), l.unreadable
}

func (l *ledger) Init(_ context.Context, s coord.Space) error {
	if err := l.call("Init"); err != nil {
		return err
	}
	switch {
	case l.space != nil && l.space.Fingerprint != s.Fingerprint:
		return &coord.LayoutMismatchError{Stored: l.space.Fingerprint, Wanted: s.Fingerprint}
	case len(l.slots) > 0:
		return coord.ErrInvalid
	}
	l.space = &s
	return nil
}

func (l *ledger) Quarantine(_ context.Context, until time.Time) (time.Time, error) {
	if err := l.call("Quarantine"); err != nil {
		return time.Time{}, err
	}
	if l.space == nil {
		return time.Time{}, coord.ErrInvalid
	}
	if l.noticed != nil {
		l.noticed()
		l.noticed = nil
	}
	tick := l.space.Scale.Tick(until.UnixMicro())
	l.floor, l.base = max(l.floor, tick), max(l.base, tick)
	return l.micro(l.floor), nil
}

func (l *ledger) Retire(_ context.Context, id int) error {
	if err := l.call("Retire"); err != nil {
		return err
	}
	for i := range l.slots {
		if l.slots[i].WorkerID == id {
			l.slots[i].State = coord.SlotRetired
			return nil
		}
	}
	l.slots = append(l.slots, coord.Slot{
		WorkerID: id, State: coord.SlotRetired, Generation: 1,
		Until: l.micro(1),
	})
	return nil
}

// Lower is there for [coord.AdminCoordinator]; nothing here lowers a floor.
func (l *ledger) Lower(context.Context) (time.Time, error) { return time.Time{}, l.call("Lower") }

// Describe says how far windows reach that were not declared with more.
func (l *ledger) Describe() coord.Description {
	return coord.Description{Rules: coord.LeaseRules{MaxHorizon: 2 * time.Minute}}
}

func (l *ledger) micro(tick int64) time.Time { return time.UnixMicro(l.space.Scale.Micro(tick)) }

// Inspect does what drivers do: the floor is the end of a tick.
func (l *ledger) Inspect(context.Context) (coord.Namespace, error) {
	if err := l.call("Inspect"); err != nil || l.space == nil {
		return coord.Namespace{}, err
	}
	n := coord.Namespace{
		Layout: l.space.Fingerprint, Closed: l.floor >= l.space.LastTick,
		MaxHorizon: l.space.MaxHorizon, Nonce: l.nonce,
	}
	if l.floor > 0 {
		n.Floor = l.micro(l.floor + 1)
	}
	if l.base > 0 {
		n.Base = l.micro(l.base + 1)
	}
	if l.lost > 0 {
		n.Lost = l.micro(l.lost + 1)
	}
	return n, nil
}

// writes counts the calls that may change something.
func (l *ledger) writes() int {
	n := 0
	for _, c := range l.calls {
		if c != "List" && c != "Inspect" {
			n++
		}
	}
	return n
}

// add stores a slot with a window to the tick.
func (l *ledger) add(id int, state coord.SlotState, notAfter int64) *ledger {
	l.slots = append(l.slots, coord.Slot{
		WorkerID: id, State: state, Layout: l.space.Fingerprint, Holder: "host:1", Generation: 1,
		NotAfter: notAfter, Until: l.micro(notAfter + 1),
	})
	return l
}

// from reports whether the floor was raised to a tick, or within a second after it.
func (l *ledger) from(tick int64) bool { return l.floor >= tick && l.floor < tick+1000 }

// followSpace is what the namespaces know of the layout.
func followSpace() coord.Space {
	return coord.Space{
		Fingerprint: "f", Scale: clock.Scale{Epoch: 1_000_000, Unit: 1000},
		LastTick: 1<<41 - 1, Capacity: 1024,
	}
}

// existing is an old namespace that has a layout and no slots yet.
func existing() *ledger {
	s := followSpace()
	return &ledger{space: &s}
}

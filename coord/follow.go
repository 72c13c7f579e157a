package coord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Ending is how far a namespace has come whose generators have stopped.
type Ending struct {
	// Until is the end of the last window, or the floor if that is later: the
	// namespace has issued nothing with a later time, apart from retired worker IDs.
	Until time.Time
	// Furthest is the slot whose window ends last; the zero Slot if all are retired.
	Furthest Slot
	// Retired are the worker IDs that are retired. Their windows do not count for
	// Until: a window that a wrong clock has pushed far into the future would stop
	// whoever has to wait for its end.
	Retired []int
	// Closed tells that [Follow] has closed the namespace, and that its back end still
	// knows it. Its floor then says nothing, and Until is the end of the last window.
	Closed bool
	// slots are all of them, to see whether anything happens later.
	slots []Slot
}

// HeldError says that a namespace cannot be followed because worker IDs of it are
// held. It is an [ErrInvalid].
type HeldError struct {
	Slots []Slot // those that are held
}

// Error names the worker IDs and who holds them; of many, the first ones.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: these worker IDs are held: %s; stop the generators first, and wait until the leases of those that crashed have ended", ErrInvalid, nameSlots(e.Slots))
}

// Unwrap returns [ErrInvalid].
func (e *HeldError) Unwrap() error { return ErrInvalid }

// nameSlots lists worker IDs with who holds them, or held them last.
func nameSlots(slots []Slot) string {
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

// EndOf returns how far the namespace of c has come. It must have the layout of s,
// and its coordinator must be a [Lister]. If worker IDs are held, the error is a
// [*HeldError]; other errors wrap [ErrInvalid] if what was found forbids that the
// namespace is followed. That includes a namespace without slots, because most
// likely it is not the one that was meant. EndOf changes nothing of what was granted
// and may be granted; it blocks for as long as the back end needs.
func EndOf(ctx context.Context, c Coordinator, s Space) (Ending, error) {
	if err := s.check(); err != nil {
		return Ending{}, err
	}
	lister, ok := c.(Lister)
	if !ok {
		return Ending{}, fmt.Errorf("%w: the coordinator cannot list its worker IDs", ErrInvalid)
	}
	slots, err := lister.List(ctx)
	switch {
	case err != nil:
		return Ending{}, fmt.Errorf("not all worker IDs can be read: %w", err)
	case len(slots) == 0:
		return Ending{}, fmt.Errorf("%w: no worker ID was ever granted in this namespace, so there is nothing to follow; check its name", ErrInvalid)
	}
	// Whatever it has issued has a time after the epoch.
	end := Ending{Until: time.UnixMicro(s.Scale.Micro(0)).UTC(), slots: slots}
	var held []Slot
	for _, slot := range slots {
		if err := slot.checkLayout(s); err != nil {
			return Ending{}, err
		}
		switch slot.State {
		case SlotHeld:
			held = append(held, slot)
		case SlotRetired:
			end.Retired = append(end.Retired, slot.WorkerID)
		default:
			if !slot.Until.Before(end.Until) {
				end.Until, end.Furthest = slot.Until, slot
			}
		}
	}
	if len(held) > 0 {
		return Ending{}, &HeldError{Slots: held}
	}
	// Below the floor there may be windows that the back end has forgotten.
	if admin, ok := c.(Admin); ok {
		floor, err := admin.Quarantine(ctx, time.UnixMicro(s.Scale.Micro(0))) // so early that it changes nothing
		if err != nil {
			return Ending{}, fmt.Errorf("its floor cannot be read: %w", err)
		}
		end.Closed = s.Scale.Tick(floor.UnixMicro()) >= s.LastTick
		if floor.After(end.Until) && !end.Closed {
			end.Until = floor
		}
	}
	return end, nil
}

// checkLayout tells whether the slot is one of layout s. Where the fingerprint is not
// stored, the tick and the time of the window's end show unit and epoch; the widths
// of the fields cannot be checked then.
func (slot Slot) checkLayout(s Space) error {
	switch {
	case slot.Layout != "" && slot.Layout != s.Fingerprint:
		return fmt.Errorf("worker ID %d of the namespace to be followed: %w",
			slot.WorkerID, fmt.Errorf("%w: it has layout %s, the new namespace %s; IDs of two layouts can be equal", ErrLayoutMismatch, slot.Layout, s.Fingerprint))
	case slot.Layout == "" && slot.NotAfter > 0 && s.Scale.Tick(slot.Until.UnixMicro()) != slot.NotAfter+1:
		return fmt.Errorf("worker ID %d of the namespace to be followed: %w",
			slot.WorkerID, fmt.Errorf("%w: its window ends with tick %d at %s, which has another number in layout %s; IDs of two layouts can be equal", ErrLayoutMismatch, slot.NotAfter, slot.Until.UTC().Format(time.RFC3339Nano), s.Fingerprint))
	case slot.WorkerID >= s.Capacity:
		return fmt.Errorf("%w: the namespace to be followed has worker ID %d; the layout has worker IDs 0 to %d", ErrInvalid, slot.WorkerID, s.Capacity-1)
	}
	return nil
}

// check tells whether s can be that of a layout.
func (s Space) check() error {
	if s.Fingerprint == "" || s.Scale.Unit <= 0 || s.LastTick <= 0 || s.Capacity <= 0 {
		return fmt.Errorf("%w: Space is %+v; it is what core.Layout.Space returns", ErrInvalid, s)
	}
	return nil
}

// Follow makes the namespace of next go on where that of prev has ended, so that
// nothing that next issues is equal to what prev has issued, and all of it is above:
// this is how a namespace moves to another back end. Next must be a [Lister] and an
// [Admin] with a new namespace, prev a Lister. The layout of both is that of s.
// Follow returns the floor: next grants only what lies above it. Worker IDs that are
// retired in prev are retired in next; what they have issued may be above.
//
// Follow closes prev, if prev is an [Admin]: its floor becomes the end of the layout, so
// that nothing is granted or extended in it, not even for a generator that was paused
// all the while, for as long as its back end remembers that. A back end that is emptied
// afterwards, or a namespace that is deleted, remembers nothing: a generator that was
// forgotten makes it again, and issues what next issues. So take the old generators'
// rights or their URL away before the data, and the data only when none of them can come
// back. Where prev is no Admin, as with a static worker ID, whoever moves it has to see to
// all of that.
//
// All generators of prev must have stopped, and those of next must start only after
// Follow has returned nil. Follow looks whether they do, before and after it raises
// the floors, and returns an error that wraps [ErrInvalid] if not.
//
// Unless Follow has returned nil, the namespace of next must not be used; calling
// Follow again with both is safe and finishes what was begun. Follow blocks for as
// long as the back ends need.
func Follow(ctx context.Context, next, prev Coordinator, s Space) (floor time.Time, err error) {
	m, err := newMove(next, prev, s)
	if err != nil {
		return time.Time{}, err
	}
	end, err := EndOf(ctx, prev, s)
	if err != nil {
		return time.Time{}, err
	}
	if err := m.declare(ctx); err != nil {
		return time.Time{}, err
	}
	if err := m.checkBegun(ctx, end); err != nil {
		return time.Time{}, err
	}
	if _, err := m.raise(ctx, end); err != nil {
		return time.Time{}, err
	}
	// Whoever finds the new namespace in use has to take another one. So this is looked
	// at before the old one is closed, and again at the end.
	if err := m.checkUnused(ctx); err != nil {
		return time.Time{}, err
	}
	closed, err := m.closeOld(ctx)
	if err != nil {
		return time.Time{}, err
	}
	last, err := m.lookAgain(ctx, end, closed)
	if err != nil {
		return time.Time{}, err
	}
	if floor, err = m.raise(ctx, last); err != nil {
		return time.Time{}, err
	}
	// Between the declaration and the floor somebody can be granted what lies below it.
	// That shows afterwards: slots are never deleted.
	if err := m.checkUnused(ctx); err != nil {
		return time.Time{}, err
	}
	return floor, nil
}

// move is one run of Follow.
type move struct {
	next interface {
		Lister
		Admin
	}
	prev  Coordinator
	space Space
}

func newMove(next, prev Coordinator, s Space) (*move, error) {
	n, ok := next.(interface {
		Lister
		Admin
	})
	if !ok {
		return nil, fmt.Errorf("%w: the new namespace's coordinator cannot list and change it, so it cannot follow another", ErrInvalid)
	}
	return &move{next: n, prev: prev, space: s}, nil
}

// declare declares the new namespace new, which an earlier run may have done already.
func (m *move) declare(ctx context.Context) error {
	retired, err := m.unused(ctx)
	if err != nil {
		return err
	}
	err = m.next.Init(ctx, m.space)
	if err != nil && retired && errors.Is(err, ErrInvalid) && !errors.Is(err, ErrLayoutMismatch) {
		// The worker IDs that an earlier run has retired are all that is there. That run
		// has declared it.
		return nil
	}
	return err
}

// checkBegun tells whether the new namespace may follow one that is closed. What its
// floor said before it was closed, only a namespace knows that it was followed by.
func (m *move) checkBegun(ctx context.Context, end Ending) error {
	if !end.Closed {
		return nil
	}
	floor, err := m.next.Quarantine(ctx, m.timeOf(0)) // so early that it changes nothing
	if err != nil || m.tick(floor) > 0 {
		return err
	}
	return fmt.Errorf("%w: the old namespace is closed, because another one follows it; continue with that one; if nobody ever used that one, declare a new one with Init and raise its floor with Quarantine to where the last window of the old one ends, at %s, or to two minutes from now if that is later", ErrInvalid, end.Until.UTC().Format(time.RFC3339Nano))
}

// raise raises the floor of the new namespace and retires what is retired in the old
// one. The floor is never left at zero: it shows that the move has begun.
func (m *move) raise(ctx context.Context, end Ending) (time.Time, error) {
	want := max(m.tick(end.Until), 1)
	floor, err := m.raised(ctx, m.next, want)
	if err != nil {
		return time.Time{}, fmt.Errorf("raising the floor of the new namespace, which must not be used now: %w", err)
	}
	for _, id := range end.Retired {
		if err := m.next.Retire(ctx, id); err != nil {
			return time.Time{}, err
		}
	}
	return floor, nil
}

// closeOld makes the old namespace grant and extend nothing any more, where its back
// end can do that.
func (m *move) closeOld(ctx context.Context) (closed bool, err error) {
	admin, ok := m.prev.(Admin)
	if !ok {
		return false, nil
	}
	if _, err := m.raised(ctx, admin, m.space.LastTick); err != nil {
		return false, fmt.Errorf("closing the old namespace: %w; the new one must not be used before this has been repeated", err)
	}
	return true, nil
}

// raised raises a floor to a tick and checks that it is there.
func (m *move) raised(ctx context.Context, a Admin, tick int64) (time.Time, error) {
	floor, err := a.Quarantine(ctx, m.timeOf(tick))
	if err == nil && m.tick(floor) < tick {
		err = fmt.Errorf("coord: the floor was to be raised to %v and is %v", m.timeOf(tick), floor)
	}
	return floor, err
}

func (m *move) tick(t time.Time) int64      { return m.space.Scale.Tick(t.UnixMicro()) }
func (m *move) timeOf(tick int64) time.Time { return time.UnixMicro(m.space.Scale.Micro(tick)).UTC() }

// unused returns an error if anything was ever granted in the new namespace. It tells
// whether there are worker IDs that were retired without having been granted.
func (m *move) unused(ctx context.Context) (retired bool, err error) {
	slots, err := m.next.List(ctx)
	if err != nil {
		return false, fmt.Errorf("not all worker IDs of the new namespace can be read: %w", err)
	}
	var used []Slot
	for _, s := range slots {
		if s.State != SlotRetired || s.NotAfter > 0 {
			used = append(used, s)
		}
	}
	if len(used) > 0 {
		return false, fmt.Errorf("%w: the new namespace is in use: these worker IDs were granted in it already: %s", ErrInvalid, nameSlots(used))
	}
	return len(slots) > 0, nil
}

// checkUnused tells whether somebody was granted a worker ID while the floor was
// being raised.
func (m *move) checkUnused(ctx context.Context) error {
	if _, err := m.unused(ctx); err != nil {
		return fmt.Errorf("looking at the new namespace again: %w; stop its generators: their IDs may come twice; then move to another namespace", err)
	}
	return nil
}

// lookAgain returns how far the old namespace has come in the end. One that could not
// be closed must not have changed.
func (m *move) lookAgain(ctx context.Context, end Ending, closed bool) (Ending, error) {
	last, err := EndOf(ctx, m.prev, m.space)
	switch {
	case err != nil:
	case closed && !last.Closed:
		err = fmt.Errorf("%w: it was closed and is open again", ErrInvalid)
	case !closed && !same(last.slots, end.slots):
		err = fmt.Errorf("%w: worker IDs were granted in it meanwhile", ErrInvalid)
	}
	if err != nil {
		return Ending{}, fmt.Errorf("looking at the old namespace again: %w; the new namespace must not be used before this has been repeated", err)
	}
	return last, nil
}

// same tells whether nothing was granted, extended or retired between two lists.
func same(a, b []Slot) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].WorkerID != b[i].WorkerID || a[i].Generation != b[i].Generation || a[i].NotAfter != b[i].NotAfter || a[i].State != b[i].State {
			return false
		}
	}
	return true
}

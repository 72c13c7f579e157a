package follow

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// usualHorizon is at least as far as windows reach ahead, where no longer horizon was
// declared.
const usualHorizon = 2 * time.Minute

// Namespace makes the namespace of next go on where that of prev has ended, so that all that next
// issues is above all that prev has issued. Both are a [coord.AdminCoordinator], with the layout of
// s, and that of next is new. Namespace returns the floor: next grants only what lies above it.
// Worker IDs that are retired in prev are retired in next; what they issued may be above.
//
// Namespace closes prev: its floor becomes the end of the layout, so that nothing is granted or
// extended in it, not even for a generator that was paused, for as long as its back end
// remembers that. One that is emptied afterwards remembers nothing: a generator that was
// forgotten makes the namespace again, and issues what next issues. So take the old generators'
// rights or URL away first, and the data only when none of them can come back.
//
// All generators of prev must have stopped, and those of next start only after Namespace has
// returned nil. Errors wrap [coord.ErrInvalid] if they do not; while worker IDs of prev are held
// and it is not closed yet, it is a [*HeldError]. If the layouts differ, the error wraps
// [coord.ErrLayoutMismatch]. Where prev was declared with a longer [coord.Space.MaxHorizon] than
// next has, it wraps [coord.ErrInvalid] until the last window of prev is as near as next's own
// reach, because next would not wait for longer ones if it lost its floor. Any other error is
// that of a back end.
//
// Calling Namespace again with both is safe, and finishes what was begun. It blocks for as long
// as the back ends need.
func Namespace(
	ctx context.Context, next, prev coord.Coordinator, s coord.Space,
) (floor time.Time, _ error) {
	end, err := EndOf(ctx, prev, s)
	if err != nil {
		return time.Time{}, err
	}
	n, ok := next.(coord.AdminCoordinator)
	if !ok {
		return time.Time{}, invalid("the new namespace's coordinator cannot list, show and change it, " +
			"so it cannot follow another; it must implement coord.AdminCoordinator")
	}
	m := &move{next: n, space: s}
	if err := m.begin(ctx, end); err != nil {
		return time.Time{}, err
	}
	// Who finds the new namespace in use has to take another one, so this is looked at before
	// the old one is closed.
	if _, err := m.raise(ctx, end); err != nil {
		return time.Time{}, err
	}
	closed := time.UnixMicro(s.Scale.Micro(s.LastTick)).UTC()
	_, err = prev.(coord.AdminCoordinator).Quarantine(ctx, closed)
	if err == nil { // it may have noticed only now that it has lost state
		end, err = EndOf(ctx, prev, s)
	}
	if err == nil && !end.Closed {
		err = invalid("it was closed and is open again")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("closing the old namespace: %w; the new one must not be used "+
			"before this has been repeated", err)
	}
	return m.raise(ctx, end)
}

// move is one run of Namespace.
type move struct {
	next  coord.AdminCoordinator
	space coord.Space
	nonce string // of the new namespace
	base  int64  // tick to which its floor was raised before: it may follow several
}

// begin declares the new namespace, which an earlier run may have done, and reports whether it
// may follow the old one.
func (m *move) begin(ctx context.Context, end Ending) error {
	if err := m.checkHorizon(end); err != nil {
		return err
	}
	retired, err := m.unused(ctx)
	if err != nil {
		return err
	}
	info, err := m.next.Inspect(ctx)
	declared := info.Layout == m.space.Fingerprint && info.MaxHorizon == m.space.MaxHorizon
	if err == nil && !(declared && retired > 0) { // else an earlier run was interrupted
		if err = m.next.Init(ctx, m.space); err == nil {
			info, err = m.next.Inspect(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("declaring the new namespace: %w", err)
	}
	if m.nonce = info.Nonce; !info.Base.IsZero() {
		m.base = m.space.Scale.Tick(info.Base.UnixMicro()) - 1
	}
	// Closing has overwritten the old floor, and only the successor knows that it was above it.
	if end.Closed && (m.base == 0 || m.signed(m.base, end) != m.base) { //mutant:move-closes
		return invalid("the old namespace is closed, because another one follows it; continue with "+
			"that one; if nobody ever used that one, declare a new one with Init and raise its floor with "+
			"Quarantine to where the last window of the old one ends, at %s, or to %v from now if that "+
			"is later", stamp(end.Until), max(usualHorizon, end.MaxHorizon))
	}
	return nil
}

// stamp is a time as errors name it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// checkHorizon reports whether the new namespace protects the windows of the old one also when
// its back end loses the floor that keeps it above them: after a loss it waits for as long as
// its own windows reach, and those of a namespace that was declared with more reach further.
func (m *move) checkHorizon(end Ending) error {
	last := end.Furthest.Until
	own := max(m.next.Describe().Rules.MaxHorizon, m.space.MaxHorizon)
	if end.lost.After(last) {
		last = end.lost
	}
	near := last.Add(-own)
	if end.MaxHorizon <= own || !near.After(time.UnixMicro(clock.System().UnixMicro())) {
		return nil
	}
	return invalid("the old namespace was declared with windows of up to %v, and its last one ends "+
		"at %s; the new one, which has windows of up to %v, can follow it from %s on; or declare the "+
		"new one with %v too", end.MaxHorizon, stamp(last), own, stamp(near), end.MaxHorizon)
}

// unused returns an error if anything was ever granted in the new namespace, and otherwise
// how many worker IDs were retired without having been granted.
func (m *move) unused(ctx context.Context) (retired int, err error) {
	slots, err := m.next.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("not all worker IDs of the new namespace can be read: %w", err)
	}
	used := slices.DeleteFunc(slices.Clone(slots), func(s coord.Slot) bool {
		return s.State == coord.SlotRetired && s.NotAfter == 0
	})
	if len(used) > 0 {
		return 0, invalid("the new namespace is in use: these worker IDs were granted in it already: %s",
			nameSlots(used))
	}
	return len(slots), nil
}

// raise raises the floor of the new namespace and retires what is retired in the old one.
// Somebody may have been granted before that what lies below, which shows afterwards.
func (m *move) raise(ctx context.Context, end Ending) (time.Time, error) {
	tick := m.signed(max(m.space.Scale.Tick(end.Until.UnixMicro()), m.base, 1), end)
	floor, err := m.next.Quarantine(ctx, time.UnixMicro(m.space.Scale.Micro(tick)).UTC())
	for _, id := range end.Retired {
		if err == nil {
			err = m.next.Retire(ctx, id)
		}
	}
	if err == nil {
		if _, err = m.unused(ctx); err != nil {
			err = fmt.Errorf("%w; stop its generators: their IDs may come twice; then move to another "+
				"namespace", err)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("raising the floor of the new namespace, which must not be used "+
			"now: %w", err)
	}
	return floor, nil
}

// signed returns the first tick, from one on, that shows as a floor that this move has begun:
// of the ticks of a second, which a floor of another move or of an operator hits by chance.
func (m *move) signed(tick int64, end Ending) int64 {
	ticks := max(time.Second.Microseconds()/m.space.Scale.Unit, 1)
	h := fnv.New32a()
	_, _ = fmt.Fprintln(h, end.nonce, m.nonce)
	return tick + (int64(h.Sum32())%ticks-tick%ticks+ticks)%ticks
}

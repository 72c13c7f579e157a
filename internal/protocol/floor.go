package protocol

import (
	"crypto/rand"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
)

// AfterLoss returns the namespace with the floor that a loss of state demands, and with the record
// of that loss. It was found not before at.Low, and nothing is lost with it after at.High. It
// never closes a namespace: whatever a clock says, the last tick stays above the floor.
//
// The time must come from a clock that was compared with others, see floorClock. Known
// is the namespace as the process that noticed the loss knew it before, zero if it did
// not: a floor that it knew holds on, although the back end may have forgotten it, because
// nobody can tell whether a clock was ahead that raised it, or this one is behind. So does
// the longest horizon that the namespace was declared with.
func (m Meta) AfterLoss(known Meta, at Span, l Limits) Meta {
	m = m.with(known)
	limit := min(max(m.WindowLimit(at.High, l), 0), m.LastTick-1)
	m.Floor = max(m.Floor, limit)
	m.Loss = Loss{Nonce: rand.Text(), Floor: limit, Found: at.Low} //mutant:found-low
	return m
}

// with returns the namespace with what is known of it besides. What has another layout says
// nothing.
func (m Meta) with(known Meta) Meta {
	if known.Fingerprint == m.Fingerprint {
		m = m.declared(known.MaxHorizon)
		m.Floor, m.Base = max(m.Floor, known.Floor), max(m.Base, known.Base) //mutant:known-floor
	}
	return m
}

// lacks reports whether less is on record than is known of the namespace. A floor that is no
// operator's is that of an earlier loss: the record of a later one makes up for it.
func (m Meta) lacks(known Meta) bool {
	return known.Fingerprint == m.Fingerprint &&
		(known.Base > m.Base || known.MaxHorizon > m.MaxHorizon) //mutant:lowered-lacks
}

// afterBirth returns the namespace with the floor of a loss, because it may have been there before.
// Nothing shows that, and its nonce is the loss's: see [Meta.Born].
func (m Meta) afterBirth(at Span, l Limits) Meta {
	m = m.AfterLoss(Meta{}, at, l)
	m.Loss.Nonce = m.Nonce
	return m
}

// Born reports whether the loss on record is that of a namespace which was made because
// there was none: nothing else shows it.
func (m Meta) Born() bool { return m.Loss.Nonce == m.Nonce }

// DeclaredNew returns the namespace as it is when it is declared new: without the floor of a loss
// that nothing shows.
func (m Meta) DeclaredNew() Meta {
	if m.Born() {
		m.Floor, m.Loss = m.Base, Loss{}
	}
	return m
}

// Settles reports whether the loss on record explains what a process has noticed, so
// that the floor need not be raised again. Known is the nonce of the loss that the
// process knew when it saw its evidence, and seen is when it saw the newest piece of
// that, in microseconds since 1970.
//
// A loss that the process knew already explains nothing that it has seen since. And a
// record may itself come from a backup: it settles only what was certainly seen before
// that loss was found, and what its floor covers: that can be higher, with an allowance for the
// request that has raised it, or lower, after [Meta.Lowered]. The two clocks may be off by the
// bound each, in opposite directions, and what is seen within a tick has no order. The floor
// of an operator does not count, because nobody knows what it is for.
func (m Meta) Settles(known string, seen int64, l Limits) bool {
	if m.Loss.Nonce == "" || m.Loss.Nonce == known {
		return false
	}
	scale := m.Scale()
	margin := 2 * scale.TicksUp(l.Skew.Microseconds())
	return scale.Tick(m.Loss.Found) > scale.Tick(seen)+margin && //mutant:settles-found
		m.Loss.Floor > m.WindowLimit(seen, l)+margin
}

// Quarantine returns the namespace after an operator has raised its floor to the tick of
// a time. The floor is not lowered below it later, see [Meta.Lowered].
func (m Meta) Quarantine(until time.Time) (Meta, error) {
	scale := m.Scale()
	first, last := Time(scale.Micro(0)), Time(scale.Micro(m.LastTick+1))
	switch {
	case until.Before(first):
		return m, nil
	case !until.Before(last):
		return m, invalid.Errorf("the floor is to be raised to %s; the layout ends at %s",
			Stamp(until.UnixMicro()), Stamp(last.UnixMicro()))
	}
	tick := scale.Tick(until.UnixMicro())
	m.Floor, m.Base = max(m.Floor, tick), max(m.Base, tick)
	return m, nil
}

// Lowered returns the namespace with its floor not above what windows that were
// forgotten can reach by now, and not below its base. Now must come from a clock that
// was compared with others. What was lost earlier lies below the new floor as it lay
// below the old one, and the record of the last loss is made to say no more than that.
func (m Meta) Lowered(now int64, l Limits) (Meta, error) {
	if m.Closed() {
		return m, coord.ErrNamespaceClosed
	}
	m.Floor = min(m.Floor, max(m.WindowLimit(now, l), m.Base))
	m.Loss.Floor = min(m.Loss.Floor, m.Floor)
	return m, nil
}

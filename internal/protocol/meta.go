package protocol

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

const (
	// MetaVersion is the version of [Meta] that this program writes.
	MetaVersion = 2
	// DeclaredVersion is the version of one that was declared with a longest horizon.
	// Programs of [MetaVersion] know the field, but not all that follows from it, so that
	// they are not to read it.
	DeclaredVersion = 3
)

// longestHorizon bounds what a namespace may allow, in milliseconds: a duration can hold
// it, with room for all that is added to it.
const longestHorizon int64 = 366 * 24 * 3600 * 1000

// Meta is the record of a namespace.
type Meta struct {
	Version     int    `json:"version"`
	MinReader   int    `json:"minReader"` // the lowest version of a program that may read it
	Fingerprint string `json:"fingerprint"`
	Epoch       int64  `json:"epoch"` // microseconds since 1970
	Unit        int64  `json:"unit"`  // microseconds a tick
	LastTick    int64  `json:"lastTick"`
	Capacity    int    `json:"capacity"`
	Nonce       string `json:"nonce"` // random: a namespace that is made again has another one
	// of the back end, where that has one; empty: not stored here
	Lineage    string `json:"lineage"`
	MaxHorizon int64  `json:"maxHorizon"` // milliseconds, see declared; 0: that of the driver
	Floor      int64  `json:"floor"`      // nothing is granted or extended at or below this tick
	Base       int64  `json:"base"`       // the floor is never lowered below this tick
	Loss       Loss   `json:"loss"`       // the last loss of state

	// unknown is what later versions have added, as it was read: `,"name":value` for
	// each field.
	unknown string
}

// Loss says that the back end had lost state, and what was done about it. The zero
// Loss means that no loss was noticed.
type Loss struct {
	Nonce string `json:"nonce"` // random: each loss has another one
	Floor int64  `json:"floor"` // the floor that protects against the windows that may be lost
	// Found is when the loss was noticed, in microseconds since 1970: the earliest that it can be.
	Found int64 `json:"found"`
}

// NewMeta returns the record of a new namespace. Each has another nonce.
func NewMeta(s coord.Space) Meta {
	return Meta{
		Version: MetaVersion, MinReader: MetaVersion, Nonce: rand.Text(),
		Fingerprint: s.Fingerprint, Epoch: s.Scale.Epoch, Unit: s.Scale.Unit, LastTick: s.LastTick,
		Capacity: s.Capacity,
	}.declared(s.MaxHorizon.Milliseconds())
}

// SpaceOf returns the layout that a request comes with.
func SpaceOf(req coord.Request) coord.Space {
	return coord.Space{
		Fingerprint: req.Fingerprint, Scale: req.Scale, LastTick: req.LastTick,
		Capacity: req.Capacity,
	}
}

// offset is a number of the namespace, 0 or more, which its nonce determines.
func (m Meta) offset() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.Nonce))
	return int64(h.Sum64() >> 1) //nolint:gosec // it has 63 bits
}

// Scale converts between times and the namespace's ticks.
func (m Meta) Scale() clock.Scale { return clock.Scale{Epoch: m.Epoch, Unit: m.Unit} }

// Check implements [Record].
func (m Meta) Check() error {
	switch {
	case m.Nonce == "":
		return errors.New("nonce is empty")
	case m.Fingerprint == "":
		return errors.New("fingerprint is empty")
	case m.Epoch < 0 || m.Unit <= 0:
		return fmt.Errorf("epoch is %d and unit is %d microseconds; the epoch is 0 or more, the "+
			"unit 1 or more", m.Epoch, m.Unit)
	case m.LastTick <= 0 || m.Capacity <= 0:
		return fmt.Errorf("lastTick is %d and capacity is %d; both are 1 or more", m.LastTick, m.Capacity)
	case m.MaxHorizon < 0 || m.MaxHorizon > longestHorizon:
		return fmt.Errorf("maxHorizon is %d ms; it is 0 to %d, which is a year", m.MaxHorizon,
			longestHorizon)
	case m.Floor < 0 || m.Base < 0 || m.Loss.Floor < 0:
		return fmt.Errorf("floor is %d, base is %d and the floor of the loss is %d; a tick is 0 or more",
			m.Floor, m.Base, m.Loss.Floor)
	case m.Base > m.Floor:
		return fmt.Errorf("base is %d and floor is %d; the floor is not below the base", m.Base, m.Floor)
	case m.Loss.Nonce == "" && m.Loss != Loss{}:
		return errors.New("the loss has no nonce")
	}
	return nil
}

// Limits are how far ahead of a clock windows can reach, and how far clocks may be apart.
type Limits struct{ Horizon, Skew time.Duration }

// WindowLimit is the tick until which windows of the namespace can reach by now, in microseconds
// since 1970, those too that were forgotten, if none was longer than the limit or what the
// namespace allows. No clock that is right can have pushed one further.
func (m Meta) WindowLimit(now int64, l Limits) int64 {
	s := m.Scale()
	return s.Tick(now) + s.TicksUp(m.Horizon(l.Horizon).Microseconds()) +
		s.TicksUp(l.Skew.Microseconds())
}

// Closed reports whether another namespace follows this one, so that nothing is
// granted in it any more.
func (m Meta) Closed() bool { return m.Floor >= m.LastTick }

// Quarantined is the error of a window that cannot begin before the floor is passed.
// In a closed namespace it never is. Reach is how far a right clock can have raised the floor
// that no operator has asked for.
func (m Meta) Quarantined(namespace string, farthest int64) error {
	if m.Closed() {
		return coord.ErrNamespaceClosed
	}
	err := &coord.QuarantinedError{Namespace: namespace, Until: Time(m.Scale().Micro(m.Floor + 1))}
	if m.tooFar(farthest) {
		far := time.Duration(m.Scale().Micro(m.Floor)-m.Scale().Micro(farthest)) * time.Microsecond
		err.Reason = fmt.Sprintf("that is %v further than a loss explains by this machine's clock, so "+
			"that one clock was wrong; if it is not this one, %s", far.Round(time.Millisecond), lowerHint)
	}
	return err
}

// tooFar reports whether the floor is one that no operator has asked for and no right clock has
// raised.
func (m Meta) tooFar(farthest int64) bool { return m.Floor > max(m.Base, farthest) }

// lowerHint says how a floor comes down that a wrong clock has raised.
const lowerHint = "'unalike quarantine --lower' lowers the floor once all clocks are right"

// Inspected is the namespace as an operator sees it.
func (m Meta) Inspected() coord.Namespace {
	over := func(tick int64) (t time.Time) {
		if tick > 0 {
			t = Time(m.Scale().Micro(tick + 1))
		}
		return t
	}
	return coord.Namespace{
		Layout: m.Fingerprint, Closed: m.Closed(), Nonce: m.Nonce, MaxHorizon: m.Horizon(0),
		Floor: over(m.Floor), Base: over(m.Base), Lost: over(m.Loss.Floor),
	}
}

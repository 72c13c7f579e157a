package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// Meta is what a namespace is.
type Meta struct {
	Version     int    `json:"version"`
	Fingerprint string `json:"fingerprint"`
	Epoch       int64  `json:"epoch"` // microseconds since 1970
	Unit        int64  `json:"unit"`  // microseconds a tick
	LastTick    int64  `json:"lastTick"`
	Capacity    int    `json:"capacity"`
	Floor       int64  `json:"floor"` // nothing is granted or extended at or below this tick
}

// NewMeta is the record of a new namespace.
func NewMeta(s coord.Space) Meta {
	return Meta{
		Version: Version, Fingerprint: s.Fingerprint, Epoch: s.Scale.Epoch, Unit: s.Scale.Unit,
		LastTick: s.LastTick, Capacity: s.Capacity,
	}
}

// SpaceOf is the layout that a request comes with.
func SpaceOf(req coord.Request) coord.Space {
	return coord.Space{Fingerprint: req.Fingerprint, Scale: req.Scale, LastTick: req.LastTick, Capacity: req.Capacity}
}

// Scale converts between times and the namespace's ticks.
func (m Meta) Scale() clock.Scale { return clock.Scale{Epoch: m.Epoch, Unit: m.Unit} }

// Check implements [Record].
func (m Meta) Check() error {
	switch {
	case m.Fingerprint == "":
		return errors.New("fingerprint is empty")
	case m.Epoch < 0 || m.Unit <= 0:
		return fmt.Errorf("epoch is %d and unit is %d microseconds; the epoch is 0 or more, the unit 1 or more", m.Epoch, m.Unit)
	case m.LastTick <= 0 || m.Capacity <= 0:
		return fmt.Errorf("lastTick is %d and capacity is %d; both are 1 or more", m.LastTick, m.Capacity)
	case m.Floor < 0:
		return fmt.Errorf("floor is %d; a tick is 0 or more", m.Floor)
	}
	return nil
}

// Ward is the tick until which windows that were forgotten can reach, if the loss is
// noticed now and no window was longer than maxHorizon.
func (m Meta) Ward(now int64, maxHorizon, skewBound time.Duration) int64 {
	return Reach(m.Scale(), now, maxHorizon, skewBound)
}

// Reach is the tick beyond which no clock that is right, give or take skewBound, can
// have pushed a window by now.
func Reach(s clock.Scale, now int64, maxHorizon, skewBound time.Duration) int64 {
	return s.Tick(now) + s.TicksUp(maxHorizon.Microseconds()) + s.TicksUp(skewBound.Microseconds())
}

// Quarantined is the error of a window that cannot begin before the floor is passed.
func (m Meta) Quarantined(namespace string) error {
	return &coord.QuarantinedError{Namespace: namespace, Until: Time(m.Scale().Micro(m.Floor + 1))}
}

// Inspected is the namespace as an operator sees it.
func (m Meta) Inspected() coord.Namespace {
	n := coord.Namespace{Layout: m.Fingerprint, Closed: m.Floor >= m.LastTick}
	if m.Floor > 0 {
		n.Floor = Time(m.Scale().Micro(m.Floor + 1))
	}
	return n
}

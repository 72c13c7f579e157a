package clock

import "math"

// Scale converts between wall-clock readings and ticks: a tick is Unit long and
// tick 0 begins at Epoch. Both are whole milliseconds, given in microseconds.
// The zero Scale is not usable; Unit must be positive. Scale is a value: copies
// are independent, comparable and safe for concurrent use.
type Scale struct {
	Epoch int64 // microseconds since 1970-01-01T00:00:00Z, not negative
	Unit  int64 // microseconds a tick
}

// Tick returns the tick that the reading unixMicro lies in. Readings before the
// epoch give negative ticks: division rounds down, not toward zero. Values that
// do not fit saturate.
func (s Scale) Tick(unixMicro int64) int64 {
	if unixMicro < s.Epoch {
		return s.tickBeforeEpoch(unixMicro)
	}
	d := unixMicro - s.Epoch
	if s.Unit == 1000 {
		return d / 1000 // the usual unit, without the cost of a division
	}
	return d / s.Unit
}

// tickBeforeEpoch is Tick for the readings whose distance to the epoch is
// negative and may not fit.
func (s Scale) tickBeforeEpoch(unixMicro int64) int64 {
	if unixMicro < math.MinInt64+s.Epoch {
		unixMicro = math.MinInt64 + s.Epoch
	}
	d := unixMicro - s.Epoch
	q := d / s.Unit
	if q*s.Unit != d {
		q--
	}
	return q
}

// Micro returns the reading at which tick begins, in microseconds since
// 1970-01-01T00:00:00Z. Values that do not fit saturate.
func (s Scale) Micro(tick int64) int64 {
	if tick < 0 {
		return s.microBeforeEpoch(tick)
	}
	if tick > (math.MaxInt64-s.Epoch)/s.Unit {
		return math.MaxInt64
	}
	return s.Epoch + tick*s.Unit
}

// microBeforeEpoch is Micro for the ticks whose distance to the epoch is negative
// and may not fit though the reading does. The distance fits into a uint64.
func (s Scale) microBeforeEpoch(tick int64) int64 {
	ticks := -uint64(tick)
	if ticks > (1<<63+uint64(s.Epoch))/uint64(s.Unit) {
		return math.MinInt64
	}
	return int64(uint64(s.Epoch) - ticks*uint64(s.Unit))
}

// TicksDown returns how many whole ticks fit into micros microseconds.
func (s Scale) TicksDown(micros int64) int64 { return micros / s.Unit }

// TicksUp returns how many ticks cover micros microseconds.
func (s Scale) TicksUp(micros int64) int64 {
	q := micros / s.Unit
	if q*s.Unit < micros {
		q++
	}
	return q
}

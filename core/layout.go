package core

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// ErrInvalidLayout is wrapped by the errors of [Layout.Validate] and
// [ParseLayout], and by those of every function that was given a layout which
// does not pass Validate.
var ErrInvalidLayout = errors.New("core: invalid layout")

const (
	// maxBits is what a positive int64 holds. IDs are never negative, so that they
	// sort the same way as numbers, as bytes and as text.
	maxBits = 63
	// maxFieldBits keeps worker IDs and sequence numbers inside an int on 32-bit
	// machines.
	maxFieldBits = 31
)

// Layout says how the 63 usable bits of an ID are divided: time in the upper
// bits, then the worker ID, then the sequence number. It is fixed for the life of
// a namespace: IDs of two layouts in one table can be equal.
//
// Layout is a value. None of its methods blocks, and all but
// [Layout.UnmarshalText], which changes its receiver, are safe for concurrent use. The zero Layout
// is not valid by itself. Compare layouts by [Layout.String] rather than by ==, because equal times
// can differ as Go values.
type Layout struct {
	// Epoch is the moment at which tick 0 begins: whole milliseconds, from
	// 1970-01-01 on, not in the future when a generator starts.
	Epoch time.Time
	// Unit is the length of a tick: whole milliseconds, at least one.
	Unit time.Duration
	// TimeBits is the width of the time field, at least 1. The layout can express
	// 2^TimeBits ticks.
	TimeBits uint8
	// WorkerBits is the width of the worker ID, 0 to 31. With 0 the only worker ID
	// is 0.
	WorkerBits uint8
	// SequenceBits is the width of the sequence number, 1 to 31. A worker makes at
	// most 2^SequenceBits IDs a tick. The three widths are at most 63 together.
	SequenceBits uint8
}

// DefaultLayout returns 41 bits of milliseconds since 2024-01-01T00:00:00Z, 10 bits
// of worker ID and 12 bits of sequence number: 1024 workers, 4096 IDs per worker
// and millisecond, until September 2093.
func DefaultLayout() Layout {
	return Layout{
		Epoch:        time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC),
		Unit:         time.Millisecond,
		TimeBits:     41,
		WorkerBits:   10,
		SequenceBits: 12,
	}
}

// TwitterLayout returns the layout of the first Snowflake: as [DefaultLayout], with
// the epoch 1288834974657 ms, which is 2010-11-04T01:42:54.657Z. Its 5 bits of
// datacenter and 5 bits of machine are one worker ID of 10 bits here.
func TwitterLayout() Layout {
	l := DefaultLayout()
	l.Epoch = time.UnixMilli(1288834974657).UTC()
	return l
}

// JavaScriptLayout returns a layout whose IDs are at most 2^53 - 1, so that they
// survive as numbers in JavaScript and in other languages that hold numbers in
// floating point: 41 bits of milliseconds since 2024-01-01T00:00:00Z, 5 bits of
// worker ID, 7 bits of sequence number.
func JavaScriptLayout() Layout {
	l := DefaultLayout()
	l.WorkerBits, l.SequenceBits = 5, 7
	return l
}

// Validate returns an error that names the first field which is not allowed, its
// value and what is allowed, or nil. The error wraps [ErrInvalidLayout]. It does
// not know what time it is: whether the epoch lies in the future is checked when
// a generator starts.
func (l Layout) Validate() error {
	if err := l.checkEpochValue(); err != nil {
		return err
	}
	switch {
	case l.Unit <= 0:
		return invalidLayout("Unit is %v; it must be at least 1ms", l.Unit)
	case l.Unit%time.Millisecond != 0:
		return invalidLayout("Unit is %v; it must be a whole number of milliseconds", l.Unit)
	case l.TimeBits == 0:
		return invalidLayout("TimeBits is 0; it must be at least 1, and 41 bits of milliseconds " +
			"last 69 years")
	case l.WorkerBits > maxFieldBits:
		return invalidLayout("WorkerBits is %d; 0 to %d are allowed", l.WorkerBits, maxFieldBits)
	case l.SequenceBits == 0 || l.SequenceBits > maxFieldBits:
		return invalidLayout("SequenceBits is %d; 1 to %d are allowed", l.SequenceBits, maxFieldBits)
	case l.bits() > maxBits:
		return invalidLayout("TimeBits %d, WorkerBits %d and SequenceBits %d are %d bits together; at "+
			"most %d are allowed, because the sign bit stays 0",
			l.TimeBits, l.WorkerBits, l.SequenceBits, l.bits(), maxBits)
	}
	return nil
}

// checkEpochValue is the part of Validate that concerns the epoch.
func (l Layout) checkEpochValue() error {
	unix := time.Unix(0, 0)
	switch {
	case l.Epoch.IsZero():
		return invalidLayout("Epoch is not set; choose a moment in the past, for example " +
			"2024-01-01T00:00:00Z")
	case l.Epoch.Before(unix) || l.Epoch.UTC().Year() > 9999:
		return invalidLayout("Epoch is %s; it must lie between 1970-01-01T00:00:00Z and the end of "+
			"the year 9999", formatEpoch(l.Epoch))
	case !l.Epoch.Equal(unix) && l.Epoch.Before(unix.AddDate(0, 2, 0)):
		// A count of seconds of our days, taken for milliseconds, falls into the first
		// weeks of 1970. The very start of 1970 is a deliberate choice, though.
		return invalidLayout("Epoch is %s, which looks like seconds instead of milliseconds: %d s after "+
			"1970 is %s; use time.Unix for seconds and time.UnixMilli for milliseconds",
			formatEpoch(l.Epoch), l.Epoch.UnixMilli(), formatEpoch(time.Unix(l.Epoch.UnixMilli(), 0)))
	case l.Epoch.Nanosecond()%int(time.Millisecond) != 0:
		return invalidLayout("Epoch is %s; it must be a whole number of milliseconds",
			formatEpoch(l.Epoch))
	}
	return nil
}

// checkEpoch returns an error if the epoch lies after now, the reading of the
// generator's clock. It expects a layout that passes Validate.
func (l Layout) checkEpoch(now time.Time) error {
	if l.Epoch.After(now) {
		return invalidLayout("Epoch is %s, but the clock says %s; choose an epoch in the past, or "+
			"set the clock",
			formatEpoch(l.Epoch), now.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func invalidLayout(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidLayout, fmt.Errorf(format, args...))
}

// Workers returns the number of worker IDs, 2^WorkerBits. Worker IDs run from 0 to
// Workers() - 1. On 32-bit machines the result for 31 bits is one less, because an
// int holds no more. The result is meaningful only if [Layout.Validate] passes.
func (l Layout) Workers() int { return fieldSize(l.WorkerBits) }

// SequencesPerTick returns how many IDs one worker can make in one tick,
// 2^SequenceBits. On 32-bit machines the result for 31 bits is one less, because an
// int holds no more. The result is meaningful only if [Layout.Validate] passes.
func (l Layout) SequencesPerTick() int { return fieldSize(l.SequenceBits) }

// Expires returns the end of the last tick that the layout can express, in UTC: from
// this moment on generators refuse with [ErrTimeExhausted]. Times that do not fit
// into 63 bits of microseconds, after the year 294246, are reported as the last one
// that does. The result is meaningful only if [Layout.Validate] passes.
func (l Layout) Expires() time.Time {
	if l.TimeBits >= maxBits || l.Unit < time.Microsecond {
		return time.UnixMicro(math.MaxInt64).UTC() // not a valid layout
	}
	return time.UnixMicro(l.scale().Micro(l.lastTick() + 1)).UTC()
}

// MaxID returns the largest ID that the layout can hold: all its bits set. The
// result is meaningful only if [Layout.Validate] passes.
func (l Layout) MaxID() ID { return ID(lowBits(uint8(min(l.bits(), maxBits)))) }

// bits is the sum of the three widths.
func (l Layout) bits() int { return int(l.TimeBits) + int(l.WorkerBits) + int(l.SequenceBits) }

// lastTick is the largest tick that the time bits can hold.
func (l Layout) lastTick() int64 { return lowBits(l.TimeBits) }

// scale converts between clock readings and ticks of this layout.
func (l Layout) scale() clock.Scale {
	return clock.Scale{Epoch: l.Epoch.UnixMicro(), Unit: l.Unit.Microseconds()}
}

// lowBits is the number whose n lowest bits are set.
func lowBits(n uint8) int64 { return int64(1)<<n - 1 }

// fieldSize is 2^bits, or the largest int if that does not fit.
func fieldSize(bits uint8) int {
	if bits >= strconv.IntSize-1 {
		return math.MaxInt
	}
	return 1 << bits
}

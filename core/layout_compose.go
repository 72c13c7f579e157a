package core

import (
	"fmt"
	"math"
	"time"
)

// Compose returns the ID with the given parts; t is rounded down to a tick. It does
// not make the ID unique: that is what a [Generator] is for. Compose serves tests,
// migrations, and range queries by time: Compose(t, 0, 0) is the smallest ID of the
// tick that t lies in.
//
// Values outside of what the layout can hold are errors, never wrapped or masked.
// With a layout that does not pass [Layout.Validate], the error is that of Validate.
func (l Layout) Compose(t time.Time, worker, sequence int) (ID, error) {
	if err := l.Validate(); err != nil {
		return 0, err
	}
	maxWorker, maxSequence := lowBits(l.WorkerBits), lowBits(l.SequenceBits)
	tick := l.scale().Tick(clampMicro(t))
	switch {
	case tick < 0:
		return 0, fmt.Errorf("core: time %s is before the layout's epoch %s; a later time or another "+
			"layout is needed",
			formatEpoch(t), formatEpoch(l.Epoch))
	case tick > l.lastTick():
		return 0, fmt.Errorf("core: time %s is not before %s, when the layout's %d time bits are spent; "+
			"an earlier time or another layout is needed",
			formatEpoch(t), formatEpoch(l.Expires()), l.TimeBits)
	case worker < 0 || int64(worker) > maxWorker:
		return 0, fmt.Errorf("core: worker ID is %d; layout %v allows 0 to %d", worker, l, maxWorker)
	case sequence < 0 || int64(sequence) > maxSequence:
		return 0, fmt.Errorf("core: sequence is %d; layout %v allows 0 to %d", sequence, l, maxSequence)
	}
	return l.pack(tick, int64(worker), int64(sequence)), nil
}

// Decompose returns the parts of id. Every non-negative ID has parts in every valid
// layout, whether or not it was made with it, except that bits above the layout's
// are counted as time. Times after the year 294246 are reported as the last moment
// that fits into 63 bits of microseconds. A negative ID, which no generator makes,
// and a layout that does not pass [Layout.Validate] give zero Parts.
func (l Layout) Decompose(id ID) Parts {
	if id < 0 || l.Validate() != nil {
		return Parts{}
	}
	tick, worker, sequence := l.unpack(id)
	return Parts{
		Time:     time.UnixMicro(l.scale().Micro(tick)).UTC(),
		WorkerID: int(worker),
		Sequence: int(sequence),
	}
}

// pack puts the three fields together. The caller has checked their ranges.
func (l Layout) pack(tick, worker, sequence int64) ID {
	return ID(tick<<(l.WorkerBits+l.SequenceBits) | worker<<l.SequenceBits | sequence)
}

// unpack takes an ID apart.
func (l Layout) unpack(id ID) (tick, worker, sequence int64) {
	v := int64(id)
	return v >> (l.WorkerBits + l.SequenceBits), v >> l.SequenceBits & lowBits(l.WorkerBits),
		v & lowBits(l.SequenceBits)
}

// clampMicro is t in microseconds since 1970, saturated where that does not fit.
func clampMicro(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year >= 294247:
		return math.MaxInt64
	case year < -290000:
		return math.MinInt64
	}
	return t.UnixMicro()
}

package protocol

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
)

const (
	// samples is how many holders a clock is compared with.
	samples = 9
	// quorum is how many make a reference: of one peer alone, nobody can say who of
	// the two is wrong.
	quorum = 2
	// holdersMedian is what errors call the reference that holders make.
	holdersMedian = "the median of the holders"
	// noLimit is for holders of whom nobody knows when they have renewed.
	noLimit = time.Duration(math.MaxInt64)
)

// Span is a span of time, in microseconds since 1970, both ends included.
type Span struct{ Low, High int64 }

// CheckClock compares a clock, of which some reading of a span counts, with others that
// are right and in a span themselves. The error is a [*coord.ClockSkewError] if they
// differ by more than the bound.
func CheckClock(clock, right Span, bound time.Duration) error {
	if b := bound.Microseconds(); clock.High >= right.Low-b && clock.Low <= right.High+b {
		return nil
	}
	local := min(max(right.Low, clock.Low), clock.High)
	return &coord.ClockSkewError{Local: Time(local), Reference: Time(min(max(local, right.Low), right.High)), Max: bound}
}

// ClockForFloor returns the time with which to raise a floor where a clock says now and
// others, which are right, are in a span. A clock that is off by more than the bound does
// not count: what counts then is the latest that a right clock may say, because a floor
// that is too low protects nobody.
func ClockForFloor(now int64, right Span, bound time.Duration) int64 {
	if CheckClock(Span{now, now}, right, bound) != nil {
		return right.High
	}
	return max(now, right.Low)
}

// reference returns the span of a right clock, as far as the holders' last renewals
// tell, which are not longer ago than their TTL, nor than since: of an even number, the
// two in the middle bound the median. One holder with a long TTL stretches nothing.
func reference(holders []Mark, since time.Duration) Span {
	lows, highs := make([]int64, len(holders)), make([]int64, len(holders))
	for i, h := range holders {
		lows[i] = h.Renewed
		highs[i] = h.Renewed + min(h.Lease(), since).Microseconds()
	}
	slices.Sort(lows)
	slices.Sort(highs)
	return Span{lows[(len(lows)-1)/2], highs[len(highs)/2]}
}

// sampled returns some of the holders who have renewed after a write, evenly spread over
// the worker IDs, and what their owner marks say.
func sampled(all []Holder, since int64) (some []Holder, marks []Mark, _ error) {
	var newer []Holder
	for _, h := range all {
		if h.Changed > since && h.Mark != nil {
			newer = append(newer, h)
		}
	}
	n := min(len(newer), samples)
	for i := range n {
		h := newer[i*len(newer)/n]
		mark, err := h.Mark()
		if err != nil {
			return nil, nil, err
		}
		some, marks = append(some, h), append(marks, mark)
	}
	return some, marks, nil
}

// clocks compares clocks for a coordinator. Where the back end has a clock, that is the
// reference; elsewhere it is the median of the holders' clocks at their last renewals. A
// dead holder is not a clock: its owner mark lasts as long as its lease, and leases stand
// still while the back end is down. So where the clocks differ, only those count who have
// renewed since.
type clocks struct {
	bound      time.Duration
	oneMachine bool // there is one clock, and none to compare it with

	mu    sync.Mutex
	era   int64
	since int64 // the number of the write at the first look; 0: the clocks agree
	doubt doubt
}

// doubt says since when the floor may be too far ahead, because a wrong clock has raised
// it; zero: it is not.
type doubt struct {
	number int64     // of a write
	when   time.Time // monotonic
	mine   bool      // the clock that may be wrong is this one
	loss   string    // the nonce of the last loss on record then
}

// check compares a clock, which was in a span while a survey was made, with the
// reference. Where the holders who differ may be dead, the error says until when that is
// not known.
func (k *clocks) check(ctx context.Context, s Session, sv *Survey, clock Span) error {
	switch {
	case k.oneMachine:
		return nil
	case sv.Server != 0:
		return CheckClock(clock, Span{sv.Server, sv.Server + sv.Unit}, k.bound)
	case len(sv.Holders) < quorum:
		return nil
	}
	all, marks, err := sampled(sv.Holders, math.MinInt64)
	if err != nil {
		return err
	}
	first := CheckClock(clock, reference(marks, noLimit), k.bound)
	if first == nil {
		k.agreed()
		return nil
	}
	_, alive, err := sampled(sv.Holders, k.differedAt(sv.era, sv.Number))
	switch {
	case err != nil:
		return err
	case len(alive) >= quorum:
		return fromHolders(CheckClock(clock, reference(alive, noLimit), k.bound), time.Time{})
	}
	longest := time.Duration(0)
	for _, l := range s.Leases(ctx, all) {
		longest = max(longest, l.Left)
	}
	return fromHolders(first, Time(clock.Low).Add(longest))
}

// fromHolders completes the error of [CheckClock].
func fromHolders(err error, until time.Time) error {
	if skew, ok := err.(*coord.ClockSkewError); ok { //nolint:errorlint // it is made here, and is not wrapped
		skew.Source, skew.Until = holdersMedian, until
	}
	return err
}

// differedAt returns the number of the write at which a difference was met first, which
// is number if it is new.
func (k *clocks) differedAt(era, number int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since == 0 || k.era != era {
		k.era, k.since = era, number
	}
	return k.since
}

// agreed notes that the clocks agree.
func (k *clocks) agreed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = 0
}

// forFloor returns the time to raise the floor with at once, now being this machine's
// clock: the latest that it may be, since a floor that is too low protects nobody. It is
// doubtful if there is no clock but that of the other holders, and this one is far from
// theirs or there are too few of them to tell. Whether they are alive is not known yet.
func (k *clocks) forFloor(now, server int64, others []Holder) (safe int64, doubtful bool, _ error) {
	switch {
	case k.oneMachine:
		return now, false, nil
	case server != 0:
		return ClockForFloor(now, Span{server, server}, k.bound), false, nil
	}
	_, marks, err := sampled(others, math.MinInt64)
	if err != nil || len(marks) < quorum {
		return now, true, err
	}
	right := reference(marks, noLimit)
	doubtful = CheckClock(Span{now, now}, right, k.bound) != nil
	return max(now, ClockForFloor(now, right, k.bound)), doubtful, nil
}

// setDoubt notes that there is a doubt, or that there is none any more.
func (k *clocks) setDoubt(d doubt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doubt = d
}

// doubted returns what setDoubt has noted.
func (k *clocks) doubted() doubt {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.doubt
}

// restart notes that numbers of writes begin anew, from one on: writes were lost.
func (k *clocks) restart(number int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doubt.number = min(k.doubt.number, number)
}

// lowered returns a namespace whose floor a wrong clock may have raised too far, as right
// clocks would have it: those of two others who have renewed since. That the others are
// gone makes no clock right, least of all one that is behind theirs. Now is this machine's
// clock; early says that it is too early to tell.
func (k *clocks) lowered(meta Meta, since doubt, passed time.Duration, now int64, others []Holder, maxHorizon time.Duration) (_ Meta, early bool, _ error) {
	_, alive, err := sampled(others, since.number)
	if err != nil || len(alive) < quorum {
		return meta, err == nil, err
	}
	// The latest that a right clock may say counts, also where they do not agree: a floor
	// that is too low protects nobody.
	right := reference(alive, passed).High
	if !since.mine {
		right = max(right, now)
	}
	lower, err := meta.Lowered(right, maxHorizon, k.bound)
	if err != nil {
		return meta, false, fmt.Errorf("the floor cannot be lowered: %w", err)
	}
	return lower, false, nil
}

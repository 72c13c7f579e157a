package protocol

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// TestCheckClock: a clock is compared with others at the moment at which they were nearest.
// That answers are late is no reason to refuse it.
func TestCheckClock(t *testing.T) {
	const low, high = 100_000_000, 115_000_000
	for _, tt := range []struct {
		name    string
		now     int64
		took    time.Duration
		refused bool
	}{
		{"in the span", low, 0, false},
		{"behind by the bound", low - 1_000_000, 0, false},
		{"behind by more", low - 1_000_001, 0, true},
		{"behind, and right when the answer came", low - 9_000_000, 8 * time.Second, false},
		{"behind when the answer came, too", low - 9_000_000, 7 * time.Second, true},
		{"ahead by the bound", high + 1_000_000, time.Hour, false},
		{"ahead by more", high + 1_000_001, time.Hour, true},
	} {
		err := CheckClock(Span{tt.now, tt.now + tt.took.Microseconds()}, Span{low, high}, time.Second)
		skew, refused := errors.AsType[*coord.ClockSkewError](err)
		if refused != tt.refused || refused && (skew.Max != time.Second || !skew.Until.IsZero() ||
			!coord.Permanent(err)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestDuring: of a clock, what it says now counts for the time of a survey.
func TestDuring(t *testing.T) {
	sv := &Survey{began: lifetime.Now().Add(-3 * time.Second), ended: lifetime.Now().Add(-time.Second)}
	span := sv.during(100_000_000)
	if width := span.High - span.Low; width < 1_900_000 || width > 2_100_000 ||
		span.High > 99_000_000 || span.Low > 97_000_000 {
		t.Errorf("a survey of 2 s that ended a second ago was made %v, by a clock that says 100 s", span)
	}
}

// told is a session of which only the back end's clock is known.
type told struct {
	Session
	time int64
}

func (s told) Time() int64 { return s.time }

// TestFloorByACoarseClock: a floor is for the end of the unit that a back end's clock is rounded
// to.
func TestFloorByACoarseClock(t *testing.T) {
	c := &Coordinator{set: Settings{SkewBound: time.Second}}
	for unit, want := range map[int64]int64{1: 100_000_000, 1_000_000: 100_500_000} {
		sv := &Survey{Server: 100_000_000, Unit: unit, began: lifetime.Now(), ended: lifetime.Now()}
		if at, err := c.floorClock(told{time: 100_000_000}, sv, 100_000_000); at != want || err != nil {
			t.Errorf("a unit of %d: %d, %v; want %d", unit, at, err, want)
		}
	}
}

// listened is a session that tells when leases were renewed, of which those below retired are of
// worker IDs that were retired.
type listened struct {
	Session
	retired int
	asked   int
}

func (s *listened) Leases(_ context.Context, holders []Holder) (all []Lease) {
	s.asked++
	for _, h := range holders {
		all = append(all, Lease{Worker: h.Worker, Retired: h.Worker < s.retired})
	}
	return all
}

// TestHoldersBesideRetired: however many worker IDs are retired, holders are heard.
func TestHoldersBesideRetired(t *testing.T) {
	for _, tt := range []struct{ holders, retired, want, asked int }{
		{0, 0, 0, 0},
		{5, 0, 5, 1},
		{8, 0, 8, 1},
		{9, 0, 8, 1},
		{1000, 0, 8, 1},
		{21, 8, 8, 2},
		{100, 99, 1, 13},
	} {
		sv, s := &Survey{Server: 1}, &listened{retired: tt.retired}
		for id := range tt.holders {
			sv.Holders = append(sv.Holders, Holder{Worker: id})
		}
		if got := (&Coordinator{}).lives(t.Context(), s, sv); len(got) < tt.want || s.asked != tt.asked {
			t.Errorf("%+v: %d holders were heard in %d requests", tt, len(got), s.asked)
		}
	}
}

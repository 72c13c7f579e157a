package protocol

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
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

// TestServerClock: the clock is not before what an answer says since it arrived, and not after what
// it says since its request was sent. An answer to an earlier request than the newest known changes
// nothing, however late it comes.
func TestServerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const second = 1_000_000
		began := lifetime.Now()
		server := func() int64 { return 500*second + lifetime.Since(began).Microseconds() }
		var c ServerClock
		if at := c.Time(); at != (Span{}) {
			t.Errorf("before any answer it says %v", at)
		}
		check := func(after string, early, more time.Duration) {
			t.Helper()
			want := Span{server() - early.Microseconds(), server() + more.Microseconds()}
			if got := c.Time(); got != want {
				t.Errorf("after %s it says %v; want %v", after, got, want)
			}
		}
		first := lifetime.Now()
		time.Sleep(time.Second)
		early := Span{server(), server()}
		time.Sleep(8 * time.Second)
		later := lifetime.Now()
		time.Sleep(2 * time.Second)
		reading := Span{server(), server() + second} // rounded down to a second
		time.Sleep(3 * time.Second)
		c.Note(reading, later)
		check("an answer", 3*time.Second, 2*time.Second+time.Second)
		c.Note(early, first)
		check("one to an earlier request", 3*time.Second, 2*time.Second+time.Second)
		time.Sleep(time.Minute)
		check("a minute", 3*time.Second, 2*time.Second+time.Second)
		c.Note(Span{server(), server()}, lifetime.Now())
		check("one to a later request", 0, 0)
	})
}

// TestFloorClock: a floor is for the latest that the back end's clock can say: at the end of the
// unit that it is rounded to, and after all the time since the request was sent. What was seen
// before the reading is certainly older than the loss. Where the store refuses a change that comes
// late, the change may take as long again, or as the last one that came too late.
func TestFloorClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const said = 100_000_000
		forgets := Settings{SkewBound: time.Second, Forgets: true, ServerClock: true}
		file := forgets
		file.OneMachine = true
		for name, tt := range map[string]struct {
			set         Settings
			unit        int64
			took, waits time.Duration // the survey, and since its answer
			refused     time.Duration // the last change, which took so long; 0: it was done
			more        time.Duration
		}{
			"exact":               {Settings{SkewBound: time.Second}, 0, 0, 0, 0, 0},
			"rounded to a second": {Settings{SkewBound: time.Second}, 1_000_000, 0, 0, 0, time.Second},
			"slow": {
				Settings{SkewBound: time.Second},
				0, 8 * time.Second, 3 * time.Second, 0,
				11 * time.Second,
			},
			"one machine":   {file, 0, time.Second, 0, 0, time.Second},
			"refuses":       {forgets, 0, 0, 0, 0, leastAllowance},
			"refuses, slow": {forgets, 0, 6 * time.Second, 0, 0, 12*time.Second + leastAllowance},
			"refused": {
				forgets, 0, time.Second, 0, 4 * time.Second, 5*time.Second + leastAllowance,
			},
			"refuses, too slow": {forgets, 0, time.Minute, 0, 0, LongestAllowance},
		} {
			c := &Coordinator{set: tt.set, detector: &detector{}}
			c.tooLate.Store(int64(tt.refused))
			sv := &Survey{began: lifetime.Now()}
			time.Sleep(tt.took)
			sv.Server, sv.ended = Span{said, said + tt.unit}, lifetime.Now()
			time.Sleep(tt.waits)
			own := said + (tt.took + tt.waits).Microseconds()
			at, err := c.floorClock(sv, own)
			if want := (Span{said, said + tt.more.Microseconds()}); at != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", name, at, err, want)
			}
		}
	})
}

// timed is a session that knows the back end's clock.
type timed struct {
	Session
	at Span
}

func (s timed) Time() Span { return s.at }

// TestSafeEnds: of what the back end's clock can say, each use takes the end that is safe for it.
func TestSafeEnds(t *testing.T) {
	const now, second = 1_000_000_000, 1_000_000
	s := timed{at: Span{now - 8*second, now + 6*second}}
	c := &Coordinator{
		set: Settings{
			SkewBound: time.Second, MaxHorizon: 30 * time.Second, ServerClock: true, Clock: clock.System(),
		},
		detector: &detector{limits: Limits{30 * time.Second, time.Second}},
	}
	meta := NewMeta(epochSpace)
	tick := func(micros int64) int64 { return meta.Scale().Tick(micros) }
	if got, want := c.clamped(s, meta, tick(now+3600*second)), tick(s.at.Low+31*second); got != want {
		t.Errorf("a window is cut to %d; want %d, which no floor is below", got, want)
	}
	if got, want := c.farthest(s, meta), tick(s.at.High+33*second); got != want {
		t.Errorf("a floor is too far above %d; want %d", got, want)
	}
	if got := c.seen(s, Position{Server: exactly(now)}); got != now {
		t.Errorf("an answer that tells the time was seen at %d; want %d", got, now)
	}
	if got := c.seen(s, Position{}); got != s.at.High {
		t.Errorf("an answer that does not was seen at %d; want %d", got, s.at.High)
	}
	c.set.Forgets = true
	if got, want := c.clamped(s, meta, tick(now+3600*second)), tick(s.at.Low+30*second); got != want {
		t.Errorf("a window is cut to %d; want %d, which the store does not refuse", got, want)
	}
	want := tick(s.at.High + 33*second + LongestAllowance.Microseconds())
	if got := c.farthest(s, meta); got != want {
		t.Errorf("a floor with an allowance is too far above %d; want %d", got, want)
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
		sv, s := &Survey{}, &listened{retired: tt.retired}
		sv.Server = exactly(1)
		for id := range tt.holders {
			sv.Holders = append(sv.Holders, Holder{Worker: id})
		}
		if got := (&Coordinator{}).lives(t.Context(), s, sv); len(got) < tt.want || s.asked != tt.asked {
			t.Errorf("%+v: %d holders were heard in %d requests", tt, len(got), s.asked)
		}
	}
}

package coordtest

import (
	"errors"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// adminMaxHorizon declares a namespace with a longer horizon than the driver has: that is
// fixed, shown, and what holders that survive may ask for, and quarantines wait for. Where
// a driver has no such namespaces, it says so, and makes none.
func adminMaxHorizon(s *suite) {
	o := s.operator()
	described, ok := o.party.Coordinator.(coord.Describer)
	if !ok {
		s.Skip("skipped: this driver does not say how far windows reach (no coord.Describer)")
	}
	rules := described.Describe().Rules
	own, longest := rules.MaxHorizon, rules.MaxDeclared
	declared := s.space()
	declared.MaxHorizon = 6 * time.Hour
	if longest == 0 {
		s.wantRefused("Init with 6 h", o.Init(s.ctx(), declared), "6h0m0s", own.String())
		if got, err := o.Inspect(s.ctx()); err != nil || got != (coord.Namespace{}) {
			s.Fatalf("Inspect after an Init that was refused: %+v, %v; want no namespace", got, err)
		}
		return
	}
	for _, bad := range []time.Duration{-time.Hour, own, longest + time.Millisecond, 6*time.Hour + 1} {
		space := s.space()
		space.MaxHorizon = bad
		s.wantRefused("Init with "+bad.String(), o.Init(s.ctx(), space), bad.String(), own.String(), longest.String())
	}
	long := s.longRequest(o.party, declared.MaxHorizon)
	_, err := o.Acquire(s.ctx(), long)
	s.wantRefused("Acquire with 6 h where there is no namespace", err, "6h0m0s", "is not there", "init --max-horizon")
	for range 2 {
		if err := o.Init(s.ctx(), declared); err != nil {
			s.Fatalf("Init with 6 h: %v", err)
		}
	}
	for _, other := range []time.Duration{0, time.Hour} {
		space := s.space()
		space.MaxHorizon = other
		s.wantRefused("Init with another horizon", o.Init(s.ctx(), space), "6h0m0s", max(other, own).String())
	}
	if got, err := o.Inspect(s.ctx()); err != nil || got.MaxHorizon != declared.MaxHorizon {
		s.Fatalf("Inspect: %+v, %v; want MaxHorizon %v", got, err, declared.MaxHorizon)
	}
	s.longWindows(o, declared.MaxHorizon)
	before := time.Now()
	floor, err := o.Quarantine(s.ctx(), time.Time{})
	if err != nil || floor.Before(before.Add(declared.MaxHorizon)) || floor.After(time.Now().Add(declared.MaxHorizon+time.Minute)) {
		s.Fatalf("Quarantine for as long as can be needed: until %v, %v; it is %v, and windows reach %v ahead", floor, err, time.Now(), declared.MaxHorizon)
	}
	if floor, err := o.Lower(s.ctx()); err != nil || floor.Before(before.Add(declared.MaxHorizon)) {
		s.Fatalf("Lower: %v, %v; windows reach %v ahead", floor, err, declared.MaxHorizon)
	}
}

// longRequest is a request by a holder that survives, with its true clock.
func (s *suite) longRequest(p party, horizon time.Duration) coord.Request {
	req := s.request(p)
	req.Surviving = true
	req.Until = req.Now + s.h.Scale.TicksDown(horizon.Microseconds())
	return req
}

// longWindows has holders ask for windows of a namespace that allows some horizon.
func (s *suite) longWindows(o operated, horizon time.Duration) {
	s.Helper()
	long := s.longRequest(o.party, horizon)
	mortal := long
	mortal.Surviving = false
	_, err := o.Acquire(s.ctx(), mortal)
	s.wantRefused("Acquire with 6 h by who does not survive", err, "6h0m0s", "state file", "state=FILE")
	_, err = o.Acquire(s.ctx(), s.longRequest(o.party, 7*time.Hour))
	s.wantRefused("Acquire with 7 h", err, "7h0m0s", "6h0m0s", "--after")

	g := s.acquireWith(o.party, s.request(o.party))
	until := s.h.Now() + s.h.Scale.TicksDown(horizon.Microseconds())
	if g = s.renew(o.party, g, until); g.NotAfter != until {
		s.Fatalf("Renew until %d: %v", until, g)
	}
	crashed := s.acquireWith(o.party, long)
	if crashed.NotAfter != long.Until {
		s.Fatalf("Acquire until %d: %v", long.Until, crashed)
	}
	// A clock that is right has pushed it there: it is granted again, above its window.
	s.release(o.party, crashed, crashed.NotAfter)
	s.wantAfter("Acquire of a worker ID whose window ends in 6 h", s.acquire(o.party), crashed, long.Until)
	if r := coord.Describe(o.party.Coordinator).Rules; r.LongestWindow() != horizon {
		s.Fatalf("Describe: rules %+v; windows reach %v ahead", r, horizon)
	}
}

// wantRefused checks that an error is invalid, and says all of some things.
func (s *suite) wantRefused(what string, err error, says ...string) {
	s.Helper()
	if !errors.Is(err, coord.ErrInvalid) {
		s.Fatalf("%s: %v; want %v", what, err, coord.ErrInvalid)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			s.Fatalf("%s: %v; want an error that says %q", what, err, part)
		}
	}
}

package coordtest

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// adminMaxHorizon declares a namespace with a longer horizon than the driver has: that is
// fixed, shown, and what holders that survive may ask for, and quarantines wait for. Where
// a driver has no such namespaces, it refuses, and makes none.
func adminMaxHorizon(s *suite) {
	o := s.operator()
	rules := o.Describe().Rules
	declare := func(horizon time.Duration) error {
		space := s.space()
		space.MaxHorizon = horizon
		return o.Init(s.ctx(), space)
	}
	const long = 6 * time.Hour
	if rules.MaxDeclared == 0 {
		s.wantErr("Init with 6 h", declare(long), coord.ErrInvalid)
		if got, err := o.Inspect(s.ctx()); err != nil || got != (coord.Namespace{}) {
			s.Fatalf("Inspect after an Init that was refused: %+v, %v; want no namespace", got, err)
		}
		return
	}
	for _, bad := range []time.Duration{-time.Hour, rules.MaxHorizon, rules.MaxDeclared +
		time.Millisecond, long + 1} {
		s.wantErr("Init with "+bad.String(), declare(bad), coord.ErrInvalid)
	}
	o.wantNotGranted("with 6 h where there is no namespace", o.longRequest(long), coord.ErrInvalid)
	for range 2 {
		if err := declare(long); err != nil {
			s.Fatalf("Init with 6 h: %v", err)
		}
	}
	for _, other := range []time.Duration{0, time.Hour} {
		s.wantErr("Init with another horizon", declare(other), coord.ErrInvalid)
	}
	if got, err := o.Inspect(s.ctx()); err != nil || got.MaxHorizon != long {
		s.Fatalf("Inspect: %+v, %v; want MaxHorizon %v", got, err, long)
	}
	o.longWindows(long)
	before := time.Now()
	o.quarantineForALoss(long)
	if floor, err := o.Lower(s.ctx()); err != nil || floor.Before(before.Add(long)) {
		safetytest.Unless(s, err).Fatalf("Lower: %v, %v; windows reach %v ahead", floor, err, long)
	}
}

// longRequest is a request by a holder that survives, with its true clock.
func (p party) longRequest(horizon time.Duration) coord.Request {
	req := p.request()
	req.Surviving = true
	req.Until = req.Now + scale.TicksDown(horizon.Microseconds())
	return req
}

// longWindows has holders ask for windows of a namespace that allows some horizon.
func (o operated) longWindows(horizon time.Duration) {
	o.Helper()
	long := o.longRequest(horizon)
	mortal := long
	mortal.Surviving = false
	o.wantNotGranted("with 6 h by who does not survive", mortal, coord.ErrInvalid)
	o.wantNotGranted("with 7 h", o.longRequest(7*time.Hour), coord.ErrInvalid)

	g := o.acquireWith(o.request())
	until := tickNow() + scale.TicksDown(horizon.Microseconds())
	if g = o.renew(g, until); g.NotAfter != until {
		safetytest.Of(o).Fatalf("Renew until %d: %v", until, g)
	}
	crashed := o.acquireWith(long)
	if crashed.NotAfter != long.Until {
		safetytest.Of(o).Fatalf("Acquire until %d: %v", long.Until, crashed)
	}
	// A clock that is right has pushed it there: it is granted again, above its window.
	o.release(crashed, crashed.NotAfter)
	o.wantAfter(o.acquire(), crashed, long.Until)
	if r := coord.Describe(o.party.Coordinator).Rules; r.LongestWindow() != horizon {
		o.Fatalf("Describe: rules %+v; windows reach %v ahead", r, horizon)
	}
}

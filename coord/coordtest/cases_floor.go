package coordtest

import (
	"crypto/rand"
	"errors"

	"github.com/unalike-id/unalike/coord"
)

// floorCases are about rules 2, 7 and 11.
var floorCases = []testCase{
	{"FloorHoldsForAcquire", needFloor, func(s *suite) {
		p := s.client(2)
		req := s.request(p)
		for _, floor := range []int64{s.now + s.horizon/2, s.now + 2*s.horizon} {
			s.h.RaiseFloor(s.TB, floor)
			req.Token = rand.Text()
			g, err := p.Acquire(s.ctx(), req)
			if err != nil && (floor < req.Until || !errors.Is(err, coord.ErrQuarantined)) {
				s.Fatalf("Acquire until %d with the floor at %d: %v", req.Until, floor, err)
			}
			if err == nil && (g.NotBefore < floor || g.NotAfter != max(g.NotBefore, req.Until)) {
				s.Fatalf("the floor is %d, Acquire until %d granted %v", floor, req.Until, g)
			}
		}
	}},
	{"FloorAfterLostReply", needFloor, func(s *suite) {
		// A renewal is done, and the holder never learns of it. Its window ends below the floor,
		// whatever is stored.
		for _, raisedBefore := range []bool{true, false} {
			p, g := s.holder()
			floor, stored := g.NotAfter+s.horizon/4, g.NotAfter+s.horizon/2
			if raisedBefore {
				s.h.RaiseFloor(s.TB, floor)
			}
			s.renew(p, g, stored)
			s.h.RaiseFloor(s.TB, floor)
			r := s.renew(p, g, stored+1)
			s.wantWindow("Renew over a floor, after a lost reply", r, floor, stored+1)
			s.release(p, r, r.NotBefore)
		}
	}},
	{"FloorAfterUnnoticedPieceOfResumed", needFloor | needCrash, func(s *suite) {
		a, g := s.holder()
		floor := g.NotAfter + s.horizon/4
		s.h.RaiseFloor(s.TB, floor)
		s.crash(a, s.renew(a, g, floor+s.horizon/4)) // of which nobody has learned
		until := floor + s.horizon/2
		r := s.resume(s.client(1), g, until)
		s.wantWindow("Resume over a floor, after a lost reply", r, floor, until)
	}},
}

// extension is more of a window for who has the grant, or takes it over.
type extension struct {
	p      party
	before coord.Grant
	try    func(until int64) (coord.Grant, error)
	extend func(until int64) coord.Grant // try, which must succeed
}

// renewing extends the window of a holder.
func renewing(s *suite) extension {
	p, g := s.holder()
	return extension{
		p, g, func(until int64) (coord.Grant, error) { return p.Renew(s.ctx(), g, until) },
		func(until int64) coord.Grant { return s.renew(p, g, until) },
	}
}

// resuming extends the window of a holder that is dead.
func resuming(s *suite) extension {
	g, _ := s.dead()
	p, token := s.client(1), rand.Text()
	return extension{
		p, g,
		func(until int64) (coord.Grant, error) {
			return s.resumer(p).Resume(s.ctx(), withoutHandle(g), token, until)
		},
		func(until int64) coord.Grant { return s.resumeAs(p, g, token, until) },
	}
}

// floorsOf are the cases of rule 7 for one way to extend a window.
func floorsOf(way string, needs need, begin func(*suite) extension) []testCase {
	return []testCase{
		{"FloorMakesSeparatePieceOf" + way, needs | needCrash, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/4
			s.h.RaiseFloor(s.TB, floor)
			until := floor + s.horizon/4
			piece := e.extend(until)
			s.wantWindow("an extension over the floor", piece, floor, until)
			s.wantSame("the same again", e.extend(until), piece)
			// The piece is the grant from then on.
			next := s.renew(e.p, piece, until+1)
			s.wantWindow("Renew of the piece", next, floor, until+1)
			s.crash(e.p, next)
			s.wantNext("it", next, next.NotAfter)
		}},
		{"FloorWithinWindowOf" + way, needs, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter
			s.h.RaiseFloor(s.TB, floor)
			until := floor + s.horizon/4
			s.wantWindow("an extension that reaches the floor", e.extend(until), e.before.NotBefore, until)
		}},
		{"FloorAboveWantedFor" + way, needs, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/2
			s.h.RaiseFloor(s.TB, floor)
			_, err := e.try(e.before.NotAfter + 1)
			s.wantErr("a window below the floor", err, coord.ErrQuarantined)
			s.wantFull("Acquire while the holder waits for the floor", s.client(1))
			s.wantWindow("an extension over the floor", e.extend(floor+1), floor, floor+1)
		}},
	}
}

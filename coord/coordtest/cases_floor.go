package coordtest

import (
	"crypto/rand"
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// floorCases are about rules 2, 7 and 11.
var floorCases = []testCase{
	{"FloorHoldsForAcquire", func(s *suite) {
		p := s.client(2)
		req := p.request()
		for _, floor := range []int64{s.at(0.5), s.at(2)} {
			s.raiseFloor(floor)
			req.Token = rand.Text()
			g, err := p.Acquire(s.ctx(), req)
			if err != nil && (floor < req.Until || !errors.Is(err, coord.ErrQuarantined)) {
				s.Fatalf("Acquire until %d with the floor at %d: %v", req.Until, floor, err)
			}
			if err == nil && (g.NotBefore < floor || g.NotAfter != max(g.NotBefore, req.Until)) {
				safetytest.Of(s).Fatalf("the floor is %d, Acquire until %d granted %v", floor, req.Until, g)
			}
		}
	}},
	{"FloorAfterLostReply", func(s *suite) {
		// A renewal is done, and the holder never learns of it. Its window ends below the floor,
		// whatever is stored.
		for _, raisedBefore := range []bool{true, false} {
			p, g := s.holder()
			floor, stored := g.NotAfter+s.horizon/4, g.NotAfter+s.horizon/2
			if raisedBefore {
				s.raiseFloor(floor)
			}
			p.renew(g, stored)
			s.raiseFloor(floor)
			r := p.renew(g, stored+1)
			s.wantWindow(r, floor, stored+1) // Renew over a floor, after a lost reply
			p.release(r, r.NotBefore)
		}
	}},
	{"FloorAfterUnnoticedPieceOfResumed", func(s *suite) {
		a, g := s.holder()
		floor := g.NotAfter + s.horizon/4
		s.raiseFloor(floor)
		a.crash(a.renew(g, floor+s.horizon/4)) // of which nobody has learned
		until := floor + s.horizon/2
		r := s.client(1).resume(g, until)
		s.wantWindow(r, floor, until) // Resume over a floor, after a lost reply
	}},
}

// extension is more of a window for who has the grant, or takes it over.
type extension struct {
	party
	before coord.Grant // with the token and the generation that it has afterwards
	try    func(until int64) (coord.Grant, error)
}

// extend tries; it must succeed.
func (e extension) extend(until int64) coord.Grant {
	e.Helper()
	g, err := e.try(until)
	return e.extended(g, err, e.before, until)
}

// renewing extends the window of a holder.
func renewing(s *suite) extension {
	p, g := s.holder()
	return extension{p, g, func(until int64) (coord.Grant, error) {
		return p.Renew(s.ctx(), g, until)
	}}
}

// resuming extends the window of a holder that is dead.
func resuming(s *suite) extension {
	g, _ := s.dead()
	p, after := s.client(1), g
	after.Token, after.Generation = rand.Text(), g.Generation+1
	return extension{p, after, func(until int64) (coord.Grant, error) {
		return p.resumer().Resume(s.ctx(), withoutHandle(g), after.Token, until)
	}}
}

// floorsOf are the cases of rule 7 for one way to extend a window.
func floorsOf(way string, begin func(*suite) extension) []testCase {
	return []testCase{
		{"FloorMakesSeparatePieceOf" + way, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/4
			s.raiseFloor(floor)
			until := floor + s.horizon/4
			piece := e.extend(until)
			s.wantWindow(piece, floor, until)  // an extension over the floor
			s.wantSame(e.extend(until), piece) // the same again
			// The piece is the grant from then on.
			next := e.renew(piece, until+1)
			s.wantWindow(next, floor, until+1) // Renew of the piece
			e.dies(next)
		}},
		{"FloorWithinWindowOf" + way, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter
			s.raiseFloor(floor)
			until := floor + s.horizon/4
			s.wantWindow(e.extend(until), e.before.NotBefore, until)
		}},
		{"FloorAboveWantedFor" + way, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/2
			s.raiseFloor(floor)
			_, err := e.try(e.before.NotAfter + 1)
			s.wantErr("a window below the floor", err, coord.ErrQuarantined)
			s.client(1).wantFull()                          // Acquire while the holder waits for the floor
			s.wantWindow(e.extend(floor+1), floor, floor+1) // an extension over the floor
		}},
	}
}

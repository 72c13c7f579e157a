package coordtest

import (
	"errors"

	"github.com/unalike-id/unalike/coord"
)

// floorCases are about rules 2, 7 and 11.
var floorCases = []testCase{
	{"FloorHoldsForAcquire", needFloor, func(s *suite) {
		floor := s.now + s.horizon/2
		s.h.RaiseFloor(s.TB, floor)
		p := s.client(2)
		req := s.request(p)
		g := s.acquireWith(p, req)
		if g.NotBefore < floor || g.NotAfter != req.Until {
			s.Fatalf("the floor is %d, Acquire until %d granted %v", floor, req.Until, g)
		}
	}},
	{"FloorAboveWantedForAcquire", needFloor, func(s *suite) {
		floor := s.now + 2*s.horizon
		s.h.RaiseFloor(s.TB, floor)
		p := s.client(1)
		g, err := p.Acquire(s.ctx(), s.request(p))
		switch {
		case errors.Is(err, coord.ErrQuarantined):
		case err != nil:
			s.Fatalf("Acquire below the floor: %v; want an empty window or %v", err, coord.ErrQuarantined)
		case g.NotBefore < floor || g.NotAfter != g.NotBefore:
			s.Fatalf("the floor is %d, Acquire granted %v", floor, g)
		}
	}},
	{"FloorMakesSeparatePiece", needFloor | needCrash, func(s *suite) {
		p := s.client(1)
		req := s.request(p)
		g := s.acquireWith(p, req)
		floor := g.NotAfter + s.horizon/4
		s.h.RaiseFloor(s.TB, floor)
		until := floor + s.horizon/4
		piece := s.renew(p, g, until)
		if piece.NotBefore != floor || piece.NotAfter != until {
			s.Fatalf("the floor %d lies above %v, Renew until %d returned %v; want (%d, %d]", floor, g, until, piece, floor, until)
		}
		s.wantSame("Acquire replayed", s.acquireWith(p, req), piece)
		// The piece is the grant from then on.
		next := s.renew(p, piece, until+1)
		if next.NotBefore != floor || next.NotAfter != until+1 {
			s.Fatalf("Renew of the piece %v until %d returned %v", piece, until+1, next)
		}
		s.crash(p, next)
		s.wantAfter("Acquire after it", s.acquire(s.client(1)), next, next.NotAfter)
	}},
	{"FloorAfterLostReply", needFloor, func(s *suite) {
		p := s.client(1)
		g := s.acquire(p)
		floor := g.NotAfter + s.horizon/4
		s.h.RaiseFloor(s.TB, floor)
		s.renew(p, g, floor+s.horizon/4) // done, but the holder never learns of it
		until := floor + s.horizon/2
		piece := s.renew(p, g, until)
		if piece.NotBefore != floor {
			s.Fatalf("the floor %d lies above %v, an earlier reply was lost, Renew returned %v, which bridges the gap", floor, g, piece)
		}
	}},
	{"FloorAfterUnnoticedRenewal", needFloor, func(s *suite) {
		p := s.client(1)
		g := s.acquire(p)
		stored := s.now + 2*s.horizon
		s.renew(p, g, stored) // done, but the holder never learns of it
		floor := (g.NotAfter + stored) / 2
		s.h.RaiseFloor(s.TB, floor)
		// The holder's window ends below the floor, whatever is stored.
		if r := s.renew(p, g, stored+1); r.NotBefore != floor {
			s.Fatalf("the floor %d lies above %v and below the stored %d, Renew returned %v", floor, g, stored, r)
		}
	}},
	{"FloorWithinWindowChangesNothing", needFloor, func(s *suite) {
		p := s.client(1)
		g := s.acquire(p)
		s.h.RaiseFloor(s.TB, g.NotAfter)
		until := g.NotAfter + s.horizon/4
		if r := s.renew(p, g, until); r.NotBefore != g.NotBefore || r.NotAfter != until {
			s.Fatalf("the floor %d lies within %v, Renew until %d returned %v", g.NotAfter, g, until, r)
		}
	}},
	{"FloorAboveWantedForRenew", needFloor, func(s *suite) {
		p := s.client(1)
		g := s.acquire(p)
		floor := g.NotAfter + s.horizon/2
		s.h.RaiseFloor(s.TB, floor)
		r, err := p.Renew(s.ctx(), g, g.NotAfter+1)
		switch {
		case errors.Is(err, coord.ErrQuarantined):
		case err != nil:
			s.Fatalf("Renew below the floor: %v; want %v", err, coord.ErrQuarantined)
		case r.NotBefore < floor || r.NotAfter != r.NotBefore:
			s.Fatalf("the floor is %d, Renew of %v until %d returned %v", floor, g, g.NotAfter+1, r)
		}
		s.wantFull("Acquire while the holder waits for the floor", s.client(1))
		if r = s.renew(p, g, floor+1); r.NotBefore != floor || r.NotAfter != floor+1 {
			s.Fatalf("the floor is %d, Renew of %v until %d returned %v", floor, g, floor+1, r)
		}
	}},
}

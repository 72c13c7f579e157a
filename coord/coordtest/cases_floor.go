package coordtest

import (
	"crypto/rand"
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
	{"FloorAfterLostReply", needFloor, func(s *suite) {
		p := s.client(1)
		g := s.acquire(p)
		floor := g.NotAfter + s.horizon/4
		s.h.RaiseFloor(s.TB, floor)
		s.renew(p, g, floor+s.horizon/4) // done, but the holder never learns of it
		until := floor + s.horizon/2
		piece := s.renew(p, g, until)
		if piece.NotBefore != floor {
			s.Fatalf("the floor %d lies above %v, a reply was lost, Renew returned %v, which "+
				"bridges the gap",
				floor, g, piece)
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
			s.Fatalf("the floor %d lies above %v and below the stored %d, Renew returned %v",
				floor, g, stored, r)
		}
	}},
	{"FloorAfterUnnoticedPieceOfResumed", needFloor | needCrash, func(s *suite) {
		a := s.client(1)
		g := s.acquire(a)
		floor := g.NotAfter + s.horizon/4
		s.h.RaiseFloor(s.TB, floor)
		s.crash(a, s.renew(a, g, floor+s.horizon/4)) // of which nobody has learned
		if r := s.resume(s.client(1), withoutHandle(g), rand.Text(),
			floor+s.horizon/2); r.NotBefore != floor {
			s.Fatalf("the floor %d lies above %v, Resume returned %v, which bridges the gap", floor, g, r)
		}
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
	p := s.client(1)
	g := s.acquire(p)
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
		func(until int64) coord.Grant { return s.resume(p, withoutHandle(g), token, until) },
	}
}

// floorsOf are the cases of rule 7 for one way to extend a window.
func floorsOf(way string, needs need, begin func(*suite) extension) []testCase {
	want := func(s *suite, g, before coord.Grant, floor, from, until int64) {
		s.Helper()
		if g.NotBefore != from || g.NotAfter != until {
			s.Fatalf("the floor is %d, and %v was extended until %d: %v; want (%d, %d]",
				floor, before, until, g, from, until)
		}
	}
	return []testCase{
		{"FloorMakesSeparatePieceOf" + way, needs | needCrash, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/4
			s.h.RaiseFloor(s.TB, floor)
			until := floor + s.horizon/4
			piece := e.extend(until)
			want(s, piece, e.before, floor, floor, until)
			s.wantSame("the same again", e.extend(until), piece)
			// The piece is the grant from then on.
			next := s.renew(e.p, piece, until+1)
			want(s, next, piece, floor, floor, until+1)
			s.crash(e.p, next)
			s.wantAfter("Acquire after it", s.acquire(s.client(1)), next, next.NotAfter)
		}},
		{"FloorWithinWindowOf" + way, needs, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter
			s.h.RaiseFloor(s.TB, floor)
			until := floor + s.horizon/4
			want(s, e.extend(until), e.before, floor, e.before.NotBefore, until)
		}},
		{"FloorAboveWantedFor" + way, needs, func(s *suite) {
			e := begin(s)
			floor := e.before.NotAfter + s.horizon/2
			s.h.RaiseFloor(s.TB, floor)
			_, err := e.try(e.before.NotAfter + 1)
			s.wantErr("a window below the floor", err, coord.ErrQuarantined)
			s.wantFull("Acquire while the holder waits for the floor", s.client(1))
			want(s, e.extend(floor+1), e.before, floor, floor, floor+1)
		}},
	}
}

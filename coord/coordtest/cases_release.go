package coordtest

import (
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// releaseCases are about rules 9 and 10.
var releaseCases = []testCase{
	{"ReleaseFreesAndTrims", func(s *suite) {
		a, g := s.holder()
		g = a.renew(g, s.at(2))
		last := g.NotBefore + (g.NotAfter-g.NotBefore)/4
		a.release(g, last)
		s.wantTrimmed(g, last, g.NotAfter)
	}},
	{"ReleaseNeverRaises", func(s *suite) {
		a, g := s.holder()
		a.release(g, g.NotAfter+2*s.horizon)
		if h := s.client(1).acquire(); h.NotBefore > g.NotAfter {
			safetytest.Of(s).Fatalf("%v was released, and the next grant is %v: its stored NotAfter was "+
				"raised", g, h)
		}
	}},
	{"ReleaseUnused", func(s *suite) {
		a, first := s.holder()
		a.release(first, first.NotAfter)
		before := first
		// Whatever it says, it gives back no more than its own.
		for _, last := range []int64{first.NotAfter, 0, first.NotAfter} {
			g := a.acquire()
			s.wantAfter(g, before, first.NotAfter) // Acquire after a grant that was not used
			a.release(g, last)
			before = g
		}
	}},
	{"ReleasedIsOut", func(s *suite) {
		a, g := s.holder()
		last := g.NotBefore + (g.NotAfter-g.NotBefore)/2
		a.release(g, last)
		free := coord.Grant{WorkerID: g.WorkerID, Generation: g.Generation}
		for _, b := range []party{a, s.client(1)} {
			b.wantOut(g)    // who has released
			b.wantOut(free) // who has no token
			if _, ok := b.Coordinator.(coord.Resumer); ok {
				b.wantNotResumed(free, coord.ErrLeaseLost) // a grant without a token
			}
		}
		s.wantNext(g, last)
	}},
	{"WrongTokenOrGeneration", func(s *suite) {
		p := s.client(1)
		p.wantOut(s.neverGranted()) // who was never granted anything
		g := p.acquire()
		for _, wrong := range spoiled(g) {
			p.wantOut(wrong)
		}
		s.client(1).wantFull() // Acquire after Releases that must not count
		p.release(g, g.NotAfter)
		s.wantNext(g, g.NotAfter) // Releases that must not count
	}},
	{"OldHolderIsOut", func(s *suite) {
		a, g := s.holder()
		s.expire(g)
		b, h := s.holder()
		a.wantOut(g)           // the old holder
		s.client(1).wantFull() // Acquire after the old holder's Release
		h = b.renew(h, s.at(2))
		s.expire(h)
		s.wantNext(h, h.NotAfter) // the new holder
	}},
	{"ReleaseAfterExpiry", func(s *suite) {
		a, g := s.holder()
		s.expire(g)
		last := g.NotBefore + 1
		// The slot is the holder's still: nobody has taken it.
		a.release(g, last)
		s.wantNext(g, last)
	}},
}

// wantTrimmed acquires after g, which was released at last, and whose window ended at until.
func (s *suite) wantTrimmed(g coord.Grant, last, until int64) {
	s.Helper()
	if h := s.wantNext(g, last); h.NotBefore >= until {
		s.Fatalf("%v was released at %d, and the next grant is %v: nothing was trimmed", g, last, h)
	}
}

// neverGranted is a grant that nobody has made.
func (s *suite) neverGranted() coord.Grant {
	return coord.Grant{Generation: 1, Token: "never-granted", NotAfter: s.now}
}

// spoiled returns grants that are not g: of another token, a later generation and an old one.
func spoiled(g coord.Grant) []coord.Grant {
	token, later, earlier := g, g, g
	token.Token += "x"
	later.Generation++
	earlier.Generation--
	return []coord.Grant{token, later, earlier}
}

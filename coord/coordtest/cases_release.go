package coordtest

import "github.com/unalike-id/unalike/coord"

// releaseCases are about rules 9 and 10.
var releaseCases = []testCase{
	{"ReleaseFreesAndTrims", 0, func(s *suite) {
		a, g := s.holder()
		g = s.renew(a, g, s.now+2*s.horizon)
		last := g.NotBefore + (g.NotAfter-g.NotBefore)/4
		s.release(a, g, last)
		s.wantTrimmed(g, last, g.NotAfter)
	}},
	{"ReleaseNeverRaises", 0, func(s *suite) {
		a, g := s.holder()
		s.release(a, g, g.NotAfter+2*s.horizon)
		if h := s.acquire(s.client(1)); h.NotBefore > g.NotAfter {
			s.Fatalf("%v was released, and the next grant is %v: its stored NotAfter was raised", g, h)
		}
	}},
	{"ReleaseUnused", 0, func(s *suite) {
		a, first := s.holder()
		s.release(a, first, first.NotAfter)
		before := first
		// Whatever it says, it gives back no more than its own.
		for _, last := range []int64{first.NotAfter, 0, first.NotAfter} {
			g := s.acquire(a)
			s.wantAfter("Acquire after a grant that was not used", g, before, first.NotAfter)
			s.release(a, g, last)
			before = g
		}
	}},
	{"ReleasedIsOut", 0, func(s *suite) {
		a, g := s.holder()
		last := g.NotBefore + (g.NotAfter-g.NotBefore)/2
		s.release(a, g, last)
		free := coord.Grant{WorkerID: g.WorkerID, Generation: g.Generation}
		for _, b := range []party{a, s.client(1)} {
			s.wantOut("who has released", b, g)
			s.wantOut("who has no token", b, free)
			if _, ok := b.Coordinator.(coord.Resumer); ok {
				s.wantNotResumed("a grant without a token", b, free, coord.ErrLeaseLost)
			}
		}
		s.wantNext("it", g, last)
	}},
	{"WrongTokenOrGeneration", 0, func(s *suite) {
		p := s.client(1)
		s.wantOut("who was never granted anything", p, s.neverGranted())
		g := s.acquire(p)
		for name, wrong := range spoiled(g) {
			s.wantOut("who has "+name, p, wrong)
		}
		s.wantFull("Acquire after Releases that must not count", s.client(1))
		s.release(p, g, g.NotAfter)
		s.wantNext("Releases that must not count", g, g.NotAfter)
	}},
	{"OldHolderIsOut", needExpire, func(s *suite) {
		a, g := s.holder()
		s.h.Expire(s.TB, g)
		b, h := s.holder()
		s.wantOut("the old holder", a, g)
		s.wantFull("Acquire after the old holder's Release", s.client(1))
		h = s.renew(b, h, s.now+2*s.horizon)
		s.h.Expire(s.TB, h)
		s.wantNext("the new holder", h, h.NotAfter)
	}},
	{"ReleaseAfterExpiry", needExpire, func(s *suite) {
		a, g := s.holder()
		s.h.Expire(s.TB, g)
		last := g.NotBefore + 1
		// The slot is the holder's still: nobody has taken it.
		s.release(a, g, last)
		s.wantNext("it", g, last)
	}},
}

// wantTrimmed acquires after g, which was released at last, and whose window ended at until.
func (s *suite) wantTrimmed(g coord.Grant, last, until int64) {
	s.Helper()
	if h := s.wantNext("Release", g, last); h.NotBefore >= until {
		s.Fatalf("%v was released at %d, and the next grant is %v: nothing was trimmed", g, last, h)
	}
}

// neverGranted is a grant that nobody has made.
func (s *suite) neverGranted() coord.Grant {
	return coord.Grant{Generation: 1, Token: "never-granted", NotAfter: s.now}
}

// spoiled returns grants that are not g, by what they have.
func spoiled(g coord.Grant) map[string]coord.Grant {
	token, later, earlier := g, g, g
	token.Token += "x"
	later.Generation++
	earlier.Generation--
	return map[string]coord.Grant{
		"another token": token, "a later generation": later, "an old generation": earlier,
	}
}

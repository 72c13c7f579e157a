package coordtest

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// renewCases are about rules 6 and 8.
var renewCases = []testCase{
	{"RenewExtends", func(s *suite) {
		p, g := s.holder()
		for i := range int64(3) {
			until := g.NotAfter + 1 + i
			r := p.renew(g, until)
			s.wantWindow(r, g.NotBefore, until)
			s.wantSame(p.renew(g, until), r)
			s.wantSame(p.renew(r, until-1), r) // Renew until earlier
			g = r
		}
	}},
	{"ReorderedRenewalsNeverLower", func(s *suite) {
		p, g := s.holder()
		far := s.at(2)
		adopted := p.renew(g, far)
		// The renewal that was sent before arrives now, with the grant of then.
		if r := p.renew(g, far-s.horizon/2); r.NotAfter < far {
			safetytest.Of(s).Fatalf("%d is stored, an earlier renewal returned %v", far, r)
		}
		p.crash(adopted)
		s.wantNext(adopted, far) // reordered renewals
	}},
	{"RenewTwiceAtOnce", func(s *suite) {
		// A renewal that is not answered in time is left under way, and another one is
		// made beside it. One of them may answer for both.
		p, g := s.holder()
		for i := range int64(5) {
			until := s.at(1) + 2*i
			grants, errs := atOnce(2, func(j int) (coord.Grant, error) {
				return p.Renew(s.ctx(), g, until+int64(j))
			})
			for j, r := range grants {
				if p.extended(r, errs[j], g, until); r.NotAfter < until {
					safetytest.Of(s).Fatalf("one of two renewals of %v at once, until %d: %v", g, until, r)
				}
			}
			if r := p.renew(g, until+1); r.NotAfter < until+1 {
				safetytest.Of(s).Fatalf("after two renewals at once, a third until %d: %v", until+1, r)
			}
		}
		if r := p.renew(g, s.now); r.NotAfter < s.at(1)+9 {
			safetytest.Of(s).Fatalf("after renewals until %d: %v", s.at(1)+9, r)
		}
	}},
	{"RenewResumesExpiredLease", func(s *suite) {
		a, g := s.holder()
		s.expire(g)
		until := s.at(2)
		r := a.renew(g, until)
		s.wantWindow(r, g.NotBefore, until) // Renew after the lease had expired
		s.client(1).wantFull()              // Acquire after the lease was put back
		s.expire(r)
		s.wantNext(r, r.NotAfter) // it expired again
	}},
	{"LostHint", func(s *suite) {
		p := s.client(1)
		n, ok := p.Coordinator.(coord.Notifier)
		s.need(ok, "this driver gives no hint of a lost lease (no coord.Notifier)")
		g := p.acquire()
		lost := n.Lost(g)
		s.need(lost != nil, "this driver gives no hint of a lost lease (Lost returns nil)")
		select {
		case <-lost:
			s.Fatalf("hint that %v is lost, and it is not", g)
		default:
		}
		s.expire(g)
		select {
		case <-lost:
		case <-time.After(s.timeout):
			s.Fatalf("no hint that the lease of %v expired, for %v", g, s.timeout)
		}
		p.renew(g, s.at(2))
	}},
}

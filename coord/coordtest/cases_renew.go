package coordtest

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// renewCases are about rules 6 and 8.
var renewCases = []testCase{
	{"RenewExtends", 0, func(s *suite) {
		p, g := s.holder()
		for i := range int64(3) {
			until := g.NotAfter + 1 + i
			r := s.renew(p, g, until)
			s.wantWindow("Renew", r, g.NotBefore, until)
			s.wantSame("Renew replayed", s.renew(p, g, until), r)
			s.wantSame("Renew until earlier", s.renew(p, r, until-1), r)
			g = r
		}
	}},
	{"ReorderedRenewalsNeverLower", needCrash, func(s *suite) {
		p, g := s.holder()
		far := s.now + 2*s.horizon
		adopted := s.renew(p, g, far)
		// The renewal that was sent before arrives now, with the grant of then.
		if r := s.renew(p, g, far-s.horizon/2); r.NotAfter < far {
			s.Fatalf("%d is stored, an earlier renewal returned %v", far, r)
		}
		s.crash(p, adopted)
		s.wantNext("reordered renewals", adopted, far)
	}},
	{"RenewTwiceAtOnce", 0, func(s *suite) {
		// A renewal that is not answered in time is left under way, and another one is
		// made beside it. One of them may answer for both.
		p, g := s.holder()
		for i := range int64(5) {
			until := s.now + s.horizon + 2*i
			results := make(chan error, 2)
			for j := range int64(2) {
				ctx := s.ctx()
				go func() {
					r, err := p.Renew(ctx, g, until+j)
					if err == nil && (r.NotAfter < until || r.Generation != g.Generation || r.Token != g.Token) {
						err = fmt.Errorf("it returned %v", r)
					}
					results <- err
				}()
			}
			for range 2 {
				if err := <-results; err != nil {
					s.Fatalf("one of two renewals of %v at once: %v", g, err)
				}
			}
			if r := s.renew(p, g, until+1); r.NotAfter < until+1 {
				s.Fatalf("after two renewals at once, a third until %d: %v", until+1, r)
			}
		}
		if r := s.renew(p, g, s.now); r.NotAfter < s.now+s.horizon+9 {
			s.Fatalf("after renewals until %d: %v", s.now+s.horizon+9, r)
		}
	}},
	{"RenewResumesExpiredLease", needExpire, func(s *suite) {
		a, g := s.holder()
		s.h.Expire(s.TB, g)
		until := s.now + 2*s.horizon
		r := s.renew(a, g, until)
		s.wantWindow("Renew after the lease had expired", r, g.NotBefore, until)
		s.wantFull("Acquire after the lease was put back", s.client(1))
		s.h.Expire(s.TB, r)
		s.wantNext("it expired again", r, r.NotAfter)
	}},
	{"LostHint", needExpire, func(s *suite) {
		p := s.client(1)
		n, ok := p.Coordinator.(coord.Notifier)
		if !ok {
			s.Skip("skipped: this driver gives no hint of a lost lease (no coord.Notifier)")
		}
		g := s.acquire(p)
		lost := n.Lost(g)
		if lost == nil {
			s.Skip("skipped: this driver gives no hint of a lost lease (Lost returns nil)")
		}
		select {
		case <-lost:
			s.Fatalf("hint that %v is lost, and it is not", g)
		default:
		}
		s.h.Expire(s.TB, g)
		select {
		case <-lost:
		case <-time.After(s.timeout):
			s.Fatalf("no hint that the lease of %v expired, for %v", g, s.timeout)
		}
		s.renew(p, g, s.now+2*s.horizon)
	}},
}

package coordtest

import "github.com/unalike-id/unalike/coord"

// handleCases are about grants whose handle is not the one that a driver has made for
// them: they come out of a file, for example. A handle saves work; nothing depends on it.
var handleCases = []testCase{
	{"GrantWithForeignHandle", 0, func(s *suite) {
		p, q := s.client(2), s.client(2)
		other := s.acquire(q)
		for _, handle := range []any{nil, "of somebody else", new(int), other.Handle} {
			s.renewAndRelease(p, s.acquire(p), handle)
		}
		s.renew(q, other, s.now+2*s.horizon)
	}},
	{"GrantOfAnotherCoordinator", needExpire, func(s *suite) {
		p, q := s.client(1), s.client(1)
		req := s.request(p)
		g := s.acquireWith(p, req)
		same := s.acquireWith(q, req) // the same grant, with a handle of q's
		s.wantSame("Acquire replayed by another participant", same, g)
		until := s.now + s.horizon
		for range 2 {
			// Both with the handle of the other.
			g = s.renew(p, same, until+1)
			same = s.renew(q, g, until+2)
			until += 2
		}
		s.release(p, same, same.NotBefore)
		s.wantOut("the other participant", q, g)
	}},
}

// renewAndRelease does all that can be done with a grant, whose handle is replaced before
// each call.
func (s *suite) renewAndRelease(p party, g coord.Grant, handle any) {
	s.Helper()
	until := g.NotAfter
	for range 2 {
		until++
		g.Handle = handle
		if n, ok := p.Coordinator.(coord.Notifier); ok {
			select {
			case <-n.Lost(g):
				s.Fatalf("hint that %v with handle %v is lost, and it is not", g, handle)
			default:
			}
		}
		from := g.NotBefore
		g = s.renew(p, g, until)
		s.wantWindow("Renew with another handle", g, from, until)
	}
	g.Handle = handle
	s.release(p, g, g.NotBefore)
}

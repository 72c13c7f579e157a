package coordtest

import "github.com/unalike-id/unalike/coord"

// handleCases are about grants whose handle is not the one that a driver has made for
// them: they come out of a file, for example. A handle saves work; nothing depends on it.
var handleCases = []testCase{
	{"GrantWithForeignHandle", func(s *suite) {
		p, q := s.client(2), s.client(2)
		other := q.acquire()
		for _, handle := range []any{nil, "of somebody else", new(int), other.Handle} {
			p.renewAndRelease(p.acquire(), handle)
		}
		q.renew(other, s.at(2))
	}},
	{"GrantOfAnotherCoordinator", func(s *suite) {
		s.needExpire()
		p, q := s.client(1), s.client(1)
		req := p.request()
		g := p.acquireWith(req)
		same := q.acquireWith(req) // the same grant, with a handle of q's
		s.wantSame(same, g)        // Acquire replayed by another participant
		until := s.at(1)
		for range 2 {
			// Both with the handle of the other.
			g = p.renew(same, until+1)
			same = q.renew(g, until+2)
			until += 2
		}
		p.release(same, same.NotBefore)
		q.wantOut(g) // the other participant
	}},
}

// renewAndRelease does all that can be done with a grant, whose handle is replaced before
// each call.
func (p party) renewAndRelease(g coord.Grant, handle any) {
	p.Helper()
	until := g.NotAfter
	for range 2 {
		until++
		g.Handle = handle
		if n, ok := p.Coordinator.(coord.Notifier); ok {
			select {
			case <-n.Lost(g):
				p.Fatalf("hint that %v with handle %v is lost, and it is not", g, handle)
			default:
			}
		}
		from := g.NotBefore
		g = p.renew(g, until)
		p.wantWindow(g, from, until) // Renew with another handle
	}
	g.Handle = handle
	p.release(g, g.NotBefore)
}

package coordtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// callCases are about rule 12, namespaces, and everything together.
var callCases = []testCase{
	{"CancelledContext", needCrash, cancelledContext},
	{"Closed", 0, func(s *suite) {
		p, g := s.holder()
		for range 2 {
			if err := p.Close(); err != nil {
				s.Fatalf("Close: %v", err)
			}
		}
		_, err := p.Acquire(s.ctx(), s.request(p))
		s.wantErr("Acquire after Close", err, coord.ErrClosed)
		_, err = p.Renew(s.ctx(), g, s.now+2*s.horizon)
		s.wantErr("Renew after Close", err, coord.ErrClosed)
		s.wantErr("Release after Close", p.Release(s.ctx(), g, g.NotAfter), coord.ErrClosed)
	}},
	{"NamespacesAreIsolated", needOther, namespaces},
	{"History", needCrash, history},
}

// cancelledContext: calls with a context that is over return its error at once and
// do nothing that matters. Release may be done all the same: who asks for it has stopped
// stamping.
func cancelledContext(s *suite) {
	p := s.client(1)
	dead, cancel := context.WithCancel(s.Context())
	cancel()
	prompt := func(what string, call func() error) {
		s.Helper()
		reply := make(chan error, 1)
		go func() { reply <- call() }()
		select {
		case err := <-reply:
			s.wantErr(what+" with a cancelled context", err, context.Canceled)
		case <-time.After(s.timeout):
			s.Fatalf("%s with a cancelled context has not returned for %v", what, s.timeout)
		}
	}
	req := s.request(p)
	prompt("Acquire", func() error { _, err := p.Acquire(dead, req); return err })
	g := s.acquireWith(p, req)
	prompt("Acquire, which was done,", func() error { _, err := p.Acquire(dead, req); return err })
	prompt("Renew", func() error { _, err := p.Renew(dead, g, s.now+2*s.horizon); return err })
	// The outcome of these was unknown; the holder goes on.
	g = s.renew(p, g, s.now+2*s.horizon)
	last := g.NotBefore + s.horizon/2
	prompt("Release", func() error {
		err := p.Release(dead, g, last)
		if err == nil { // it was done all the same
			err = context.Canceled
		}
		return err
	})
	s.crash(p, g)
	s.wantNext("it", g, last)
}

func namespaces(s *suite) {
	p, g := s.holder()
	other := party{s.h.OtherNamespace(s.TB, p.share), p.share}
	s.Cleanup(func() { _ = other.Close() })
	req := s.request(other)
	req.Fingerprint = layoutB
	h := s.acquireWith(other, req)
	if h.WorkerID != g.WorkerID {
		s.Fatalf("the share is one worker ID, and two namespaces granted %v and %v", g, h)
	}
	// What one does means nothing to the other.
	h.Token, g.Token = g.Token, h.Token
	_, err := p.Renew(s.ctx(), g, s.now+2*s.horizon)
	s.wantErr("Renew of the other namespace's grant", err, coord.ErrLeaseLost)
	s.wantErr("Release of the other namespace's grant", other.Release(s.ctx(), h, h.NotBefore),
		coord.ErrLeaseLost)
	h.Token, g.Token = g.Token, h.Token
	s.release(other, h, h.NotBefore)
	s.renew(p, g, s.now+2*s.horizon)
}

// history lets three participants do what they like with two worker IDs, and
// checks that no two windows of one worker ID overlap.
func history(s *suite) {
	type holder struct {
		party
		grant coord.Grant
		held  bool
	}
	const workers, steps = 2, 60
	var (
		random  = rand.New(rand.NewPCG(1, 2))
		parties [3]holder
		ends    [workers]coord.Grant // what was believed last, with the end that counts
	)
	for i := range parties {
		parties[i].party = s.client(workers)
	}
	for step := range steps {
		h := &parties[random.IntN(len(parties))]
		req := s.request(h.party)
		req.Until = s.now + random.Int64N(2*s.horizon)
		switch {
		case !h.held:
			g, err := h.Acquire(s.ctx(), req)
			if errors.Is(err, coord.ErrNoWorkerID) {
				continue
			}
			if err != nil {
				s.Fatalf("step %d: Acquire: %v", step, err)
			}
			s.wantAfter("Acquire", g, ends[g.WorkerID], ends[g.WorkerID].NotAfter)
			h.grant, h.held = g, true
		case random.IntN(4) > 0:
			h.grant = s.renew(h.party, h.grant, req.Until)
		case random.IntN(2) > 0:
			g := h.grant
			g.NotAfter = g.NotBefore + random.Int64N(g.NotAfter-g.NotBefore+1)
			s.release(h.party, h.grant, g.NotAfter)
			h.grant, h.held = g, false
		default:
			s.crash(h.party, h.grant)
			h.party, h.held = s.client(workers), false
		}
		ends[h.grant.WorkerID] = h.grant
	}
}

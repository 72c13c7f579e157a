package coordtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// callCases are about rule 12, namespaces, and everything together.
var callCases = []testCase{
	{"CancelledContext", cancelledContext},
	{"Closed", func(s *suite) {
		p, g := s.holder()
		for range 2 {
			if err := p.Close(); err != nil {
				s.Fatalf("Close: %v", err)
			}
		}
		p.wantNotGranted("after Close", p.request(), coord.ErrClosed)
		p.wantNotRenewed(g, coord.ErrClosed)  // after Close
		p.wantNotReleased(g, coord.ErrClosed) // after Close
	}},
	{"NamespacesAreIsolated", namespaces},
	{"History", history},
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
	req := p.request()
	prompt("Acquire", func() error { _, err := p.Acquire(dead, req); return err })
	g := p.acquireWith(req)
	prompt("Acquire, which was done,", func() error { _, err := p.Acquire(dead, req); return err })
	prompt("Renew", func() error { _, err := p.Renew(dead, g, s.at(2)); return err })
	// The outcome of these was unknown; the holder goes on.
	g = p.renew(g, s.at(2))
	last := g.NotBefore + s.horizon/2
	prompt("Release", func() error {
		err := p.Release(dead, g, last)
		if err == nil { // it was done all the same
			err = context.Canceled
		}
		return err
	})
	p.crash(g)
	s.wantNext(g, last)
}

func namespaces(s *suite) {
	p, g := s.holder()
	s.need(s.h.OtherNamespace != nil,
		"there is no second namespace (Harness.OtherNamespace is nil)")
	other := s.join(s.h.OtherNamespace, p.share)
	req := other.request()
	req.Fingerprint = layoutB
	h := other.acquireWith(req)
	if h.WorkerID != g.WorkerID {
		safetytest.Of(s).Fatalf("the share is one worker ID, and two namespaces granted %v and %v", g, h)
	}
	// What one does means nothing to the other.
	h.Token, g.Token = g.Token, h.Token
	p.wantNotRenewed(g, coord.ErrLeaseLost)      // of the other namespace's grant
	other.wantNotReleased(h, coord.ErrLeaseLost) // of the other namespace's grant
	h.Token, g.Token = g.Token, h.Token
	other.release(h, h.NotBefore)
	p.renew(g, s.at(2))
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
		req := h.request()
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
			s.wantAfter(g, ends[g.WorkerID], ends[g.WorkerID].NotAfter)
			h.grant, h.held = g, true
		case random.IntN(4) > 0:
			h.grant = h.renew(h.grant, req.Until)
		case random.IntN(2) > 0:
			g := h.grant
			g.NotAfter = g.NotBefore + random.Int64N(g.NotAfter-g.NotBefore+1)
			h.release(h.grant, g.NotAfter)
			h.grant, h.held = g, false
		default:
			h.crash(h.grant)
			h.party, h.held = s.client(workers), false
		}
		ends[h.grant.WorkerID] = h.grant
	}
}

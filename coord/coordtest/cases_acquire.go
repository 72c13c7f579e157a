package coordtest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// acquireCases are about rules 1 to 5.
var acquireCases = []testCase{
	{"AcquireGrantsWhatIsWanted", func(s *suite) {
		p := s.client(1)
		req := p.request()
		if g := p.acquireWith(req); g.NotAfter != max(g.NotBefore, req.Until) {
			safetytest.Of(s).Fatalf("Acquire until %d granted %v", req.Until, g)
		}
	}},
	{"AcquireConcurrent", acquireConcurrent},
	{"ShareIsRespected", func(s *suite) {
		p := s.sharer(2, 1)
		if g := p.acquire(); g.WorkerID != 2 {
			safetytest.Of(s).Fatalf("the share is worker ID 2 alone, granted was %v", g)
		}
		s.sharer(2, 1).wantFull() // Acquire with the share held and others free
	}},
	{"ReplayedAcquireIsTheSameGrant", func(s *suite) {
		p := s.client(3)
		req := p.request()
		g := p.acquireWith(req)
		s.wantSame(p.acquireWith(req), g) // Acquire replayed
		r := p.renew(g, s.at(2))
		s.wantSame(p.acquireWith(req), r) // Acquire replayed after a renewal
	}},
	{"DelayedAcquireResurrectsNothing", delayedAcquire},
	{"ReleasedTokenIsNewGrant", func(s *suite) {
		p := s.client(1)
		req := p.request()
		old := p.acquireWith(req)
		p.release(old, old.NotBefore+1)
		// The request comes once more, late. Whatever it is granted is fenced from what
		// the holder had.
		g := p.acquireWith(req)
		s.wantAfter(g, old, old.NotBefore+1) // Acquire replayed after Release
		p.wantOut(old)                       // who has released, its token being a holder again
	}},
	{"WindowSurvivesCrash", func(s *suite) {
		a, g := s.holder()
		a.dies(g)
	}},
	{"WindowBehindTheStoredOneIsEmpty", emptyWindow},
	{"LayoutMismatch", layoutMismatch},
	{"AcquireStopsAtLastTick", func(s *suite) {
		p := s.client(2)
		req := p.request()
		req.LastTick = s.at(0.5)
		g, err := p.Acquire(s.ctx(), req)
		if err == nil && g.NotAfter != req.LastTick || err != nil && !errors.Is(err, coord.ErrInvalid) {
			safetytest.Of(s).Fatalf("Acquire until %d in a layout that ends at %d: %v, %v", req.Until,
				req.LastTick, g, err)
		}
		req = p.request()
		req.LastTick = req.Until
		g = p.acquireWith(req)
		r, err := p.Renew(s.ctx(), g, req.LastTick+1)
		if err == nil {
			s.wantWindow(r, g.NotBefore, req.LastTick) // Renew beyond the end of the layout
		}
	}},
	{"StickyIdentity", func(s *suite) {
		p := s.client(4)
		g := p.acquireAs("pod-a", s.now)
		p.release(g, g.NotBefore)
		h := p.acquireAs("pod-a", s.at(1))
		if h.WorkerID != g.WorkerID {
			s.Fatalf("the identity had %v and got %v", g, h)
		}
		s.wantAfter(h, g, g.NotBefore) // Acquire by the same identity
	}},
	{"StickyIdentityPrefersToOpenInTime", func(s *suite) {
		p := s.client(2)
		g := p.acquireAs("pod-a", s.now)
		p.crash(g)
		s.wantOther(s.client(2).acquireAs("pod-a", s.now), g)
	}},
	{"StickyIdentityAfterAnotherHolder", func(s *suite) {
		for _, share := range []int{1, 2} {
			p := s.sharer(4*share, 1)
			mine := p.acquireAs("pod-a", s.now)
			p.release(mine, mine.NotBefore)
			theirs := p.acquireAs("pod-b", s.now)
			p.crash(theirs) // their window reaches into the future
			// What the back end knows of the identity is older than the slot.
			again := s.sharer(4*share, share).acquireAs("pod-a", s.now)
			if share == 1 {
				s.wantAfter(again, theirs, theirs.NotAfter)
			} else {
				s.wantOther(again, theirs)
			}
		}
	}},
	{"InvalidRequest", func(s *suite) {
		p := s.client(1)
		for name, spoil := range map[string]func(*coord.Request){
			"no token":       func(r *coord.Request) { r.Token = "" },
			"no fingerprint": func(r *coord.Request) { r.Fingerprint = "" },
			"share beyond the layout": func(r *coord.Request) {
				r.Workers = coord.Range{First: capacity, Count: 1}
			},
			"empty share": func(r *coord.Request) { r.Workers.Count = 0 },
		} {
			req := p.request()
			spoil(&req)
			p.wantNotGranted("with "+name, req, coord.ErrInvalid)
		}
		p.acquire()
	}},
}

// acquireAs acquires for an identity, whose window is to open by a tick.
func (p party) acquireAs(identity string, openBy int64) coord.Grant {
	p.Helper()
	p.need(p.h.Sticky,
		"this driver does not prefer an identity's last worker ID (Harness.Sticky is false)")
	req := p.request()
	req.Identity, req.OpenBy = identity, openBy
	return p.acquireWith(req)
}

// wantOther checks that g has another worker ID than one whose window reaches into the future.
func (s *suite) wantOther(g, other coord.Grant) {
	s.Helper()
	if g.WorkerID == other.WorkerID {
		s.Fatalf("%v opens late and was granted all the same, with the other worker ID free", g)
	}
}

// atOnce makes n calls at once and returns what came of each.
func atOnce(n int, call func(i int) (coord.Grant, error)) ([]coord.Grant, []error) {
	grants, errs := make([]coord.Grant, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { grants[i], errs[i] = call(i) })
	}
	wg.Wait()
	return grants, errs
}

// acquireConcurrent: of many who want a few worker IDs at once, two in each process, and all with
// the same identity, as many get one as there are.
func acquireConcurrent(s *suite) {
	const n, workers = 12, 8
	parties := [n / 2]party{}
	for i := range parties {
		parties[i] = s.client(workers)
	}
	began := time.Now()
	grants, errs := atOnce(n, func(i int) (coord.Grant, error) {
		req := parties[i/2].request()
		req.Identity = "the-same-for-all"
		return parties[i/2].Acquire(s.ctx(), req)
	})
	took := time.Since(began)
	seen := map[int]coord.Grant{}
	for i, g := range grants {
		h, twice := seen[g.WorkerID]
		switch {
		case errs[i] != nil:
			s.wantErr("Acquire, of many at once", errs[i], coord.ErrNoWorkerID)
		case twice && took >= s.ttl && (g.NotBefore >= h.NotAfter || h.NotBefore >= g.NotAfter):
			s.Skipf("the back end took %v, in which the lease of worker ID %d ended", took, g.WorkerID)
		case twice:
			safetytest.Of(s).Fatalf("%v and %v are held at the same time", h, g)
		default:
			seen[g.WorkerID] = g
		}
	}
	if len(seen) != workers {
		s.Fatalf("%d of %d participants hold one of %d worker IDs", len(seen), n, workers)
	}
}

// delayedAcquire is the attack that comparing owners alone does not stop: an old
// acquisition arrives again after others have had the slot.
func delayedAcquire(s *suite) {
	a, b := s.client(1), s.client(1)
	req := a.request()
	old := a.acquireWith(req)
	s.expire(old)
	g := b.acquire()

	if h, err := a.Acquire(s.ctx(), req); err == nil {
		safetytest.Of(s).Fatalf("%v is held, and a delayed Acquire was granted %v", g, h)
	}
	g = b.renew(g, s.at(2)) // b is undisturbed
	s.expire(g)

	h := a.acquireWith(req)
	s.wantAfter(h, g, g.NotAfter) // delayed Acquire
	a.wantOut(old)                // who had the first grant, its token being a holder again
}

func emptyWindow(s *suite) {
	a, g := s.holder()
	g = a.renew(g, s.at(2))
	a.crash(g)

	b := s.client(1)
	req := b.request() // wants less than what is stored
	h := b.acquireWith(req)
	s.wantAfter(h, g, g.NotAfter) // Acquire with a clock behind the window
	if h.NotAfter != h.NotBefore {
		safetytest.Of(s).Fatalf("Acquire until %d after %v granted %v; want an empty window", req.Until,
			g, h)
	}
	b.crash(h)

	c, i := s.holder()
	s.wantAfter(i, h, g.NotAfter) // Acquire after an empty window
	until := s.at(3)
	s.wantWindow(c.renew(i, until), i.NotBefore, until) // Renew of an empty window
}

func layoutMismatch(s *suite) {
	p := s.client(2)
	g := p.acquire()
	other := s.client(2)
	req := other.request()
	req.Fingerprint = layoutB
	check := func(when string) {
		s.Helper()
		_, err := other.Acquire(s.ctx(), req)
		s.wantMismatch("Acquire with another layout "+when, err)
	}
	check("while the first is in use")
	p.release(g, g.NotBefore)
	check("after the first was released")
	p.acquire()
}

// wantMismatch checks an error which says that layout A is stored and B was wanted.
func (s *suite) wantMismatch(what string, err error) {
	s.Helper()
	s.wantErr(what, err, coord.ErrLayoutMismatch)
	mismatch, ok := errors.AsType[*coord.LayoutMismatchError](err)
	if !ok || mismatch.Stored != layoutA || mismatch.Wanted != layoutB ||
		!strings.Contains(err.Error(), layoutA) || !strings.Contains(err.Error(), layoutB) {
		s.Fatalf("%s: the refusal is no LayoutMismatchError with both layouts: %#v", what, err)
	}
}

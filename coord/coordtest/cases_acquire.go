package coordtest

import (
	"errors"
	"strings"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// acquireCases are about rules 1 to 5.
var acquireCases = []testCase{
	{"AcquireGrantsWhatIsWanted", 0, func(s *suite) {
		p := s.client(1)
		req := s.request(p)
		if g := s.acquireWith(p, req); g.NotAfter != max(g.NotBefore, req.Until) {
			s.Fatalf("Acquire until %d granted %v", req.Until, g)
		}
	}},
	{"AcquireConcurrent", 0, acquireConcurrent},
	{"ShareIsRespected", 0, func(s *suite) {
		p := s.sharer(2, 1)
		if g := s.acquire(p); g.WorkerID != 2 {
			s.Fatalf("the share is worker ID 2 alone, granted was %v", g)
		}
		s.wantFull("Acquire with the share held and others free", s.sharer(2, 1))
	}},
	{"ReplayedAcquireIsTheSameGrant", 0, func(s *suite) {
		p := s.client(3)
		req := s.request(p)
		g := s.acquireWith(p, req)
		s.wantSame("Acquire replayed", s.acquireWith(p, req), g)
		r := s.renew(p, g, s.now+2*s.horizon)
		s.wantSame("Acquire replayed after a renewal", s.acquireWith(p, req), r)
	}},
	{"DelayedAcquireResurrectsNothing", needExpire, delayedAcquire},
	{"ReleasedTokenIsNewGrant", 0, func(s *suite) {
		p := s.client(1)
		req := s.request(p)
		old := s.acquireWith(p, req)
		s.release(p, old, old.NotBefore+1)
		// The request comes once more, late. Whatever it is granted is fenced from what
		// the holder had.
		g := s.acquireWith(p, req)
		s.wantAfter("Acquire replayed after Release", g, old, old.NotBefore+1)
		s.wantOut("who has released, its token being a holder again", p, old)
	}},
	{"WindowSurvivesCrash", needCrash, func(s *suite) {
		a, g := s.holder()
		s.crash(a, g)
		s.wantNext("a crash", g, g.NotAfter)
	}},
	{"WindowBehindTheStoredOneIsEmpty", needCrash, emptyWindow},
	{"LayoutMismatch", 0, layoutMismatch},
	{"AcquireStopsAtLastTick", 0, func(s *suite) {
		p := s.client(2)
		req := s.request(p)
		req.LastTick = s.now + s.horizon/2
		g, err := p.Acquire(s.ctx(), req)
		if err == nil && g.NotAfter != req.LastTick || err != nil && !errors.Is(err, coord.ErrInvalid) {
			s.Fatalf("Acquire until %d in a layout that ends at %d: %v, %v", req.Until, req.LastTick, g, err)
		}
		req = s.request(p)
		req.LastTick = req.Until
		g = s.acquireWith(p, req)
		r, err := p.Renew(s.ctx(), g, req.LastTick+1)
		if err == nil {
			s.wantWindow("Renew beyond the end of the layout", r, g.NotBefore, req.LastTick)
		}
	}},
	{"StickyIdentity", needSticky, func(s *suite) {
		p := s.client(4)
		g := s.acquireAs(p, "pod-a", s.now)
		s.release(p, g, g.NotBefore)
		h := s.acquireAs(p, "pod-a", s.now+s.horizon)
		if h.WorkerID != g.WorkerID {
			s.Fatalf("the identity had %v and got %v", g, h)
		}
		s.wantAfter("Acquire by the same identity", h, g, g.NotBefore)
	}},
	{"StickyIdentityPrefersToOpenInTime", needSticky | needCrash, func(s *suite) {
		p := s.client(2)
		g := s.acquireAs(p, "pod-a", s.now)
		s.crash(p, g)
		s.wantOther(s.acquireAs(s.client(2), "pod-a", s.now), g)
	}},
	{"StickyIdentityAfterAnotherHolder", needSticky | needCrash, func(s *suite) {
		for _, share := range []int{1, 2} {
			p := s.sharer(4*share, 1)
			mine := s.acquireAs(p, "pod-a", s.now)
			s.release(p, mine, mine.NotBefore)
			theirs := s.acquireAs(p, "pod-b", s.now)
			s.crash(p, theirs) // their window reaches into the future
			// What the back end knows of the identity is older than the slot.
			again := s.acquireAs(s.sharer(4*share, share), "pod-a", s.now)
			if share == 1 {
				s.wantAfter("Acquire by the identity that had it before", again, theirs, theirs.NotAfter)
			} else {
				s.wantOther(again, theirs)
			}
		}
	}},
	{"InvalidRequest", 0, func(s *suite) {
		p := s.client(1)
		for name, spoil := range map[string]func(*coord.Request){
			"no token":       func(r *coord.Request) { r.Token = "" },
			"no fingerprint": func(r *coord.Request) { r.Fingerprint = "" },
			"share beyond the layout": func(r *coord.Request) {
				r.Workers = coord.Range{First: capacity, Count: 1}
			},
			"empty share": func(r *coord.Request) { r.Workers.Count = 0 },
		} {
			req := s.request(p)
			spoil(&req)
			_, err := p.Acquire(s.ctx(), req)
			s.wantErr("Acquire with "+name, err, coord.ErrInvalid)
		}
		s.acquire(p)
	}},
}

// acquireAs acquires for an identity, whose window is to open by a tick; it must succeed.
func (s *suite) acquireAs(p party, identity string, openBy int64) coord.Grant {
	s.Helper()
	req := s.request(p)
	req.Identity, req.OpenBy = identity, openBy
	return s.acquireWith(p, req)
}

// wantOther checks that g has another worker ID than one whose window reaches into the future.
func (s *suite) wantOther(g, other coord.Grant) {
	s.Helper()
	if g.WorkerID == other.WorkerID {
		s.Fatalf("%v opens late and was granted all the same, with the other worker ID free", g)
	}
}

// acquireConcurrent: of many who want a few worker IDs at once, two in each process, and all with
// the same identity, as many get one as there are.
func acquireConcurrent(s *suite) {
	const n, workers = 12, 8
	grants, errs := make([]coord.Grant, n), make([]error, n)
	ctx := s.ctx()
	var wg sync.WaitGroup
	parties := [n / 2]party{}
	for i := range parties {
		parties[i] = s.client(workers)
	}
	for i := range n {
		p := parties[i/2]
		req := s.request(p)
		req.Identity = "the-same-for-all"
		wg.Go(func() { grants[i], errs[i] = p.Acquire(ctx, req) })
	}
	wg.Wait()
	seen := map[int]bool{}
	for i, g := range grants {
		switch {
		case errs[i] != nil:
			s.wantErr("Acquire, of many at once", errs[i], coord.ErrNoWorkerID)
		case seen[g.WorkerID]:
			s.Fatalf("%v is held twice", g)
		default:
			seen[g.WorkerID] = true
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
	req := s.request(a)
	old := s.acquireWith(a, req)
	s.h.Expire(s.TB, old)
	g := s.acquire(b)

	if h, err := a.Acquire(s.ctx(), req); err == nil {
		s.Fatalf("%v is held, and a delayed Acquire was granted %v", g, h)
	}
	g = s.renew(b, g, s.now+2*s.horizon) // b is undisturbed
	s.h.Expire(s.TB, g)

	h := s.acquireWith(a, req)
	s.wantAfter("delayed Acquire", h, g, g.NotAfter)
	s.wantOut("who had the first grant, its token being a holder again", a, old)
}

func emptyWindow(s *suite) {
	a, g := s.holder()
	g = s.renew(a, g, s.now+2*s.horizon)
	s.crash(a, g)

	b := s.client(1)
	req := s.request(b) // wants less than what is stored
	h := s.acquireWith(b, req)
	s.wantAfter("Acquire with a clock behind the window", h, g, g.NotAfter)
	if h.NotAfter != h.NotBefore {
		s.Fatalf("Acquire until %d after %v granted %v; want an empty window", req.Until, g, h)
	}
	s.crash(b, h)

	c, i := s.holder()
	s.wantAfter("Acquire after an empty window", i, h, g.NotAfter)
	until := s.now + 3*s.horizon
	s.wantWindow("Renew of an empty window", s.renew(c, i, until), i.NotBefore, until)
}

func layoutMismatch(s *suite) {
	p := s.client(2)
	g := s.acquire(p)
	other := s.client(2)
	req := s.request(other)
	req.Fingerprint = layoutB
	check := func(when string) {
		s.Helper()
		_, err := other.Acquire(s.ctx(), req)
		s.wantMismatch("Acquire with another layout "+when, err)
	}
	check("while the first is in use")
	s.release(p, g, g.NotBefore)
	check("after the first was released")
	s.acquire(p)
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

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
	{"AcquireUnique", 0, func(s *suite) {
		p, q := s.client(3), s.client(3)
		seen := map[int]bool{}
		for _, p := range []party{p, p, q} {
			g := s.acquire(p)
			if seen[g.WorkerID] {
				s.Fatalf("%v was granted, and its worker ID is held", g)
			}
			seen[g.WorkerID] = true
		}
		s.wantFull("Acquire with all worker IDs held", q)
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
		_, err := p.Renew(s.ctx(), old, s.now+2*s.horizon)
		s.wantErr("Renew of the released grant, its token being a holder again", err, coord.ErrLeaseLost)
		s.wantErr("Release of the released grant", p.Release(s.ctx(), old, old.NotBefore+1),
			coord.ErrLeaseLost)
	}},
	{"WindowSurvivesCrash", needCrash, func(s *suite) {
		a := s.client(1)
		g := s.acquire(a)
		s.crash(a, g)
		b := s.client(1)
		h := s.acquire(b)
		s.wantAfter("Acquire after a crash", h, g, g.NotAfter)
		h = s.renew(b, h, s.now+2*s.horizon)
		s.crash(b, h)
		c := s.acquire(s.client(1))
		s.wantAfter("Acquire after a renewal and a crash", c, h, h.NotAfter)
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
		if err == nil && r.NotAfter != req.LastTick {
			s.Fatalf("Renew until %d in a layout that ends at %d: %v", req.LastTick+1, req.LastTick, r)
		}
	}},
	{"StickyIdentity", needSticky, func(s *suite) {
		p := s.client(4)
		req := s.request(p)
		req.Identity = "pod-a"
		g := s.acquireWith(p, req)
		s.release(p, g, g.NotBefore)
		again := s.request(p)
		again.Identity, again.OpenBy = "pod-a", s.now+s.horizon
		h := s.acquireWith(p, again)
		if h.WorkerID != g.WorkerID {
			s.Fatalf("the identity had %v and got %v", g, h)
		}
		s.wantAfter("Acquire by the same identity", h, g, g.NotBefore)
	}},
	{"StickyIdentityPrefersToOpenInTime", needSticky | needCrash, func(s *suite) {
		p := s.client(2)
		req := s.request(p)
		req.Identity = "pod-a"
		g := s.acquireWith(p, req)
		s.crash(p, g)
		p = s.client(2)
		again := s.request(p)
		again.Identity = "pod-a"
		if h := s.acquireWith(p, again); h.WorkerID == g.WorkerID {
			s.Fatalf("%v opens late and was granted all the same, with the other worker ID free", h)
		}
	}},
	{"StickyIdentityAfterAnotherHolder", needSticky | needCrash, func(s *suite) {
		for _, share := range []int{1, 2} {
			p := s.sharer(4*share, 1)
			acquire := func(identity string) coord.Grant {
				s.Helper()
				req := s.request(p)
				req.Identity = identity
				return s.acquireWith(p, req)
			}
			mine := acquire("pod-a")
			s.release(p, mine, mine.NotBefore)
			theirs := acquire("pod-b")
			s.crash(p, theirs) // their window reaches into the future
			// What the back end knows of the identity is older than the slot.
			p = s.sharer(4*share, share)
			switch again := acquire("pod-a"); {
			case share == 1:
				s.wantAfter("Acquire by the identity that had it before", again, theirs, theirs.NotAfter)
			case again.WorkerID == theirs.WorkerID:
				s.Fatalf("%v opens late and was granted all the same, with the other worker ID free", again)
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

// acquireConcurrent: of many who want a few worker IDs at once, and have the same identity, as many
// get one as there are.
func acquireConcurrent(s *suite) {
	const n, workers = 12, 8
	grants, errs := make([]coord.Grant, n), make([]error, n)
	ctx := s.ctx()
	var wg sync.WaitGroup
	for i := range n {
		p := s.client(workers)
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
	if _, err := a.Renew(s.ctx(), old, s.now+3*s.horizon); !errors.Is(err, coord.ErrLeaseLost) {
		s.Fatalf("Renew of %v, over which %v and %v have been granted: %v; want %v", old, g, h, err,
			coord.ErrLeaseLost)
	}
	s.wantErr("Release of the first grant", a.Release(s.ctx(), old, old.NotBefore), coord.ErrLeaseLost)
}

func emptyWindow(s *suite) {
	a := s.client(1)
	g := s.renew(a, s.acquire(a), s.now+2*s.horizon)
	s.crash(a, g)

	b := s.client(1)
	req := s.request(b) // wants less than what is stored
	h := s.acquireWith(b, req)
	s.wantAfter("Acquire with a clock behind the window", h, g, g.NotAfter)
	if h.NotAfter != h.NotBefore {
		s.Fatalf("Acquire until %d after %v granted %v; want an empty window", req.Until, g, h)
	}
	s.crash(b, h)

	c := s.client(1)
	i := s.acquire(c)
	s.wantAfter("Acquire after an empty window", i, h, g.NotAfter)
	until := s.now + 3*s.horizon
	if r := s.renew(c, i, until); r.NotBefore != i.NotBefore || r.NotAfter != until {
		s.Fatalf("Renew of the empty window %v until %d: %v", i, until, r)
	}
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
		s.wantErr("Acquire with another layout "+when, err, coord.ErrLayoutMismatch)
		for _, fingerprint := range []string{layoutA, layoutB} {
			if !strings.Contains(err.Error(), fingerprint) {
				s.Fatalf("the refusal does not name the layout %s: %v", fingerprint, err)
			}
		}
		var mismatch *coord.LayoutMismatchError
		if !errors.As(err, &mismatch) || mismatch.Stored != layoutA || mismatch.Wanted != layoutB {
			s.Fatalf("the refusal is no LayoutMismatchError with both layouts: %#v", err)
		}
	}
	check("while the first is in use")
	s.release(p, g, g.NotBefore)
	check("after the first was released")
	s.acquire(p)
}

package coordtest

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/unalike-id/unalike/coord"
)

// resumeCases are about [coord.Resumer]. They are skipped where a driver is none.
var resumeCases = []testCase{
	{"ResumeGoesOn", needCrash, func(s *suite) {
		a, g := s.holder()
		stored := s.now + 2*s.horizon
		s.crash(a, s.renew(a, g, stored)) // of which nobody has learned
		// What the former holder can have stamped is not the caller's. That is above the
		// stored NotBefore, which nobody gets again.
		mark := g.NotBefore + s.horizon/4
		g.NotBefore = mark
		b := s.client(1)
		r := s.resume(b, g, mark)
		s.wantWindow("Resume, for less than is stored", r, mark, stored)
		s.wantFull("Acquire after Resume", s.client(1))
		r = s.renew(b, r, stored+s.horizon)
		s.wantWindow("Renew of what was resumed", r, mark, stored+s.horizon)
		s.crash(b, r)
		s.wantNext("a Resume and a crash", r, r.NotAfter)
	}},
	{"ResumeShutsTheFormerHolderOut", needCrash, func(s *suite) {
		g, heir := s.dead()
		b := s.client(1)
		r := s.resume(b, g, s.now+2*s.horizon)
		s.wantOut("the former holder", heir, g)
		s.wantOut("the former holder, without its handle", s.client(1), withoutHandle(g))
		s.wantFull("Acquire after late calls of the former holder", s.client(1))
		s.wantNotResumed("the grant that was resumed already", b, g, coord.ErrLeaseLost)
		s.crash(b, r)
		c := s.client(1)
		s.wantNotResumed("the grant that was resumed by a holder which is dead", c, g,
			coord.ErrLeaseLost)
		// What was resumed can be resumed.
		next := s.resume(c, r, r.NotAfter+1)
		s.wantWindow("Resume of what was resumed", next, r.NotBefore, r.NotAfter+1)
		s.crash(c, next)
		s.wantNext("it", next, next.NotAfter)
	}},
	{"ResumeWhileTheLeaseStands", needExpire, func(s *suite) {
		a, g := s.holder()
		b := s.client(1)
		r := s.resume(b, g, s.now+2*s.horizon)
		s.wantOut("the former holder", a, g)
		r = s.renew(b, r, r.NotAfter+1)
		s.h.Expire(s.TB, r)
		s.wantNext("it", r, r.NotAfter)
	}},
	{"ResumeRepeatedIsTheSame", needCrash, func(s *suite) {
		g, _ := s.dead()
		until, token := s.now+2*s.horizon, rand.Text()
		b := s.client(1)
		r := s.resumeAs(b, g, token, until)
		s.wantSame("Resume repeated", s.resumeAs(b, g, token, until), r)
		s.wantSame("Resume repeated, for less", s.resumeAs(b, g, token, s.now), r)
		r = s.renew(b, r, until+1)
		s.wantSame("Resume repeated after a renewal", s.resumeAs(b, g, token, until), r)
		s.crash(b, r)
		s.wantSame("Resume repeated by another process", s.resumeAs(s.client(1), g, token, until), r)
	}},
	{"ResumeTwiceAtOnce", needCrash, resumeTwiceAtOnce},
	{"ResumeAndRelease", needCrash, func(s *suite) {
		g, _ := s.dead()
		b := s.client(1)
		r := s.resume(b, g, s.now+2*s.horizon)
		last := g.NotBefore + s.horizon/4
		s.release(b, r, last)
		s.wantNotResumed("a grant that was released", s.client(1), r, coord.ErrLeaseLost)
		s.wantTrimmed(r, last, g.NotAfter)
	}},
	{"ResumeOfWhatIsNotHeld", needCrash, func(s *suite) {
		p := s.client(1)
		s.wantNotResumed("what was never granted", p, s.neverGranted(), coord.ErrLeaseLost)
		g, _ := s.dead()
		for name, wrong := range spoiled(g) {
			s.wantNotResumed("a grant with "+name, p, wrong, coord.ErrLeaseLost)
		}
		h := s.acquire(p)
		s.wantNotResumed("a grant whose worker ID somebody else has", p, g, coord.ErrLeaseLost)
		s.renew(p, h, s.now+2*s.horizon)
		s.release(p, h, h.NotBefore)
		s.wantNotResumed("a grant whose worker ID somebody else had", s.client(1), g,
			coord.ErrLeaseLost)
	}},
	{"ResumeInvalid", 0, func(s *suite) {
		p, g := s.holder()
		for name, token := range map[string]string{
			"no token": "", "the token of the grant": g.Token, "an unprintable token": "a\nb",
			"a long token": strings.Repeat("x", coord.MaxName+1),
		} {
			_, err := s.resumer(p).Resume(s.ctx(), g, token, s.now+2*s.horizon)
			s.wantErr("Resume with "+name, err, coord.ErrInvalid)
		}
		s.renew(p, g, s.now+2*s.horizon)
	}},
	{"ResumeAndAReplayedAcquire", needCrash, func(s *suite) {
		a := s.client(2)
		req := s.request(a)
		g := s.acquireWith(a, req)
		s.crash(a, g)
		b := s.client(2)
		r := s.resume(b, g, s.now+2*s.horizon)
		// The former holder's Acquire comes again, late. What it is granted has no holder,
		// which is harmless if it is something else.
		heir := s.client(2)
		if h, err := heir.Acquire(s.ctx(), req); err == nil && h.WorkerID == r.WorkerID {
			s.Fatalf("%v was resumed, and its old request was granted %v", r, h)
		}
		s.renew(b, r, r.NotAfter+1)
	}},
	{"ResumeWhoseContextHasEnded", needCrash, func(s *suite) {
		g, _ := s.dead()
		b := s.client(1)
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		token, until := rand.Text(), s.now+2*s.horizon
		_, err := s.resumer(b).Resume(ended, withoutHandle(g), token, until)
		s.wantErr("Resume with a cancelled context", err, context.Canceled)
		s.wantWindow("Resume, made again", s.resumeAs(b, g, token, until), g.NotBefore, until)
		if err := b.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
		s.wantNotResumed("a grant after Close", b, g, coord.ErrClosed)
	}},
}

// resumeTwiceAtOnce: of several who take over one grant, one gets it.
func resumeTwiceAtOnce(s *suite) {
	const n = 3
	g, _ := s.dead()
	type result struct {
		p   party
		r   coord.Grant
		err error
	}
	results := make(chan result, n)
	until := s.now + 2*s.horizon
	for range n {
		p, ctx := s.client(1), s.ctx()
		c := s.resumer(p)
		go func() {
			r, err := c.Resume(ctx, withoutHandle(g), rand.Text(), until)
			results <- result{p, r, err}
		}()
	}
	var winners []result
	for range n {
		if r := <-results; r.err == nil {
			winners = append(winners, r)
		}
	}
	if len(winners) != 1 {
		s.Fatalf("%d participants have resumed %v with tokens of their own at once, %d of them with "+
			"success: %v", n, g, len(winners), winners)
	}
	s.renew(winners[0].p, winners[0].r, until+1)
}

// withoutHandle is a grant as it comes out of a file: without its handle.
func withoutHandle(g coord.Grant) coord.Grant {
	g.Handle = nil
	return g
}

// dead returns the grant of a holder that has died, and a participant through which late calls of
// it may come.
func (s *suite) dead() (g coord.Grant, heir party) {
	s.Helper()
	p, g := s.holder()
	s.crash(p, g)
	if s.h.Crash != nil {
		p = s.client(1)
	}
	return g, p
}

// resumer returns a participant that can resume grants.
func (s *suite) resumer(p party) coord.Resumer {
	s.Helper()
	r, ok := p.Coordinator.(coord.Resumer)
	if !ok {
		s.Skip("skipped: this driver cannot resume grants (no coord.Resumer)")
	}
	return r
}

// resume resumes g, without its handle, with a new token; it must succeed.
func (s *suite) resume(p party, g coord.Grant, until int64) coord.Grant {
	s.Helper()
	return s.resumeAs(p, g, rand.Text(), until)
}

// resumeAs resumes g, without its handle; it must succeed, and be the worker ID's next generation.
func (s *suite) resumeAs(p party, g coord.Grant, token string, until int64) coord.Grant {
	s.Helper()
	r, err := s.resumer(p).Resume(s.ctx(), withoutHandle(g), token, until)
	if err != nil {
		s.Fatalf("Resume of %v until %d: %v", g, until, err)
	}
	if r.WorkerID != g.WorkerID || r.Generation != g.Generation+1 || r.Token != token {
		s.Fatalf("Resume of %v with token %q returned %v with token %q", g, token, r, r.Token)
	}
	if r.NotBefore > r.NotAfter || r.NotBefore < g.NotBefore {
		s.Fatalf("Resume of %v until %d returned %v", g, until, r)
	}
	return r
}

// wantNotResumed checks that g cannot be resumed with a new token.
func (s *suite) wantNotResumed(what string, p party, g coord.Grant, target error) {
	s.Helper()
	_, err := s.resumer(p).Resume(s.ctx(), withoutHandle(g), rand.Text(), s.now+2*s.horizon)
	s.wantErr("Resume of "+what, err, target)
}

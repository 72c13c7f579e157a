package coordtest

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// resumeCases are about [coord.Resumer]. They are skipped where a driver is none.
var resumeCases = []testCase{
	{"ResumeGoesOn", func(s *suite) {
		a, g := s.holder()
		stored := s.at(2)
		a.crash(a.renew(g, stored)) // of which nobody has learned
		// What the former holder can have stamped is not the caller's. That is above the
		// stored NotBefore, which nobody gets again.
		mark := g.NotBefore + s.horizon/4
		g.NotBefore = mark
		b := s.client(1)
		r := b.resume(g, mark)
		s.wantWindow(r, mark, stored) // Resume, for less than is stored
		s.client(1).wantFull()        // Acquire after Resume
		r = b.renew(r, stored+s.horizon)
		s.wantWindow(r, mark, stored+s.horizon) // Renew of what was resumed
		b.dies(r)                               // a Resume and a crash
	}},
	{"ResumeShutsTheFormerHolderOut", func(s *suite) {
		g, heir := s.dead()
		b := s.client(1)
		r := b.resume(g, s.at(2))
		heir.wantOut(g)                         // the former holder
		s.client(1).wantOut(withoutHandle(g))   // the former holder, without its handle
		s.client(1).wantFull()                  // Acquire after late calls of the former holder
		b.wantNotResumed(g, coord.ErrLeaseLost) // the grant that was resumed already
		b.crash(r)
		c := s.client(1)
		c.wantNotResumed(g, coord.ErrLeaseLost)
		// What was resumed can be resumed.
		next := c.resume(r, r.NotAfter+1)
		s.wantWindow(next, r.NotBefore, r.NotAfter+1) // Resume of what was resumed
		c.dies(next)
	}},
	{"ResumeWhileTheLeaseStands", func(s *suite) {
		s.needExpire()
		a, g := s.holder()
		b := s.client(1)
		r := b.resume(g, s.at(2))
		a.wantOut(g) // the former holder
		r = b.renew(r, r.NotAfter+1)
		s.expire(r)
		s.wantNext(r, r.NotAfter)
	}},
	{"ResumeRepeatedIsTheSame", func(s *suite) {
		g, _ := s.dead()
		until, token := s.at(2), rand.Text()
		b := s.client(1)
		r := b.resumeAs(g, token, until)
		s.wantSame(b.resumeAs(g, token, until), r) // Resume repeated
		s.wantSame(b.resumeAs(g, token, s.now), r) // Resume repeated, for less
		r = b.renew(r, until+1)
		s.wantSame(b.resumeAs(g, token, until), r) // Resume repeated after a renewal
		b.crash(r)
		s.wantSame(s.client(1).resumeAs(g, token, until), r)
	}},
	{"ResumeTwiceAtOnce", resumeTwiceAtOnce},
	{"ResumeAndRelease", func(s *suite) {
		g, _ := s.dead()
		b := s.client(1)
		r := b.resume(g, s.at(2))
		last := g.NotBefore + s.horizon/4
		b.release(r, last)
		s.client(1).wantNotResumed(r, coord.ErrLeaseLost) // a grant that was released
		s.wantTrimmed(r, last, g.NotAfter)
	}},
	{"ResumeOfWhatIsNotHeld", func(s *suite) {
		p := s.client(1)
		p.wantNotResumed(s.neverGranted(), coord.ErrLeaseLost) // what was never granted
		g, _ := s.dead()
		for _, wrong := range spoiled(g) {
			p.wantNotResumed(wrong, coord.ErrLeaseLost)
		}
		h := p.acquire()
		p.wantNotResumed(g, coord.ErrLeaseLost) // a grant whose worker ID somebody else has
		p.renew(h, s.at(2))
		p.release(h, h.NotBefore)
		s.client(1).wantNotResumed(g, coord.ErrLeaseLost)
	}},
	{"ResumeInvalid", func(s *suite) {
		p, g := s.holder()
		for name, token := range map[string]string{
			"no token": "", "the token of the grant": g.Token, "an unprintable token": "a\nb",
			"a long token": strings.Repeat("x", coord.MaxName+1),
		} {
			_, err := p.resumer().Resume(s.ctx(), g, token, s.at(2))
			s.wantErr("Resume with "+name, err, coord.ErrInvalid)
		}
		p.renew(g, s.at(2))
	}},
	{"ResumeAndAReplayedAcquire", func(s *suite) {
		a := s.client(2)
		req := a.request()
		g := a.acquireWith(req)
		a.crash(g)
		b := s.client(2)
		r := b.resume(g, s.at(2))
		// The former holder's Acquire comes again, late. What it is granted has no holder,
		// which is harmless if it is something else.
		heir := s.client(2)
		if h, err := heir.Acquire(s.ctx(), req); err == nil && h.WorkerID == r.WorkerID {
			safetytest.Of(s).Fatalf("%v was resumed, and its old request was granted %v", r, h)
		}
		b.renew(r, r.NotAfter+1)
	}},
	{"ResumeWhoseContextHasEnded", func(s *suite) {
		g, _ := s.dead()
		b := s.client(1)
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		token, until := rand.Text(), s.at(2)
		_, err := b.resumer().Resume(ended, withoutHandle(g), token, until)
		s.wantErr("Resume with a cancelled context", err, context.Canceled)
		s.wantWindow(b.resumeAs(g, token, until), g.NotBefore, until) // Resume, made again
		if err := b.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
		b.wantNotResumed(g, coord.ErrClosed) // a grant after Close
	}},
}

// resumeTwiceAtOnce: of several who take over one grant, one gets it.
func resumeTwiceAtOnce(s *suite) {
	g, _ := s.dead()
	until := s.at(2)
	var parties [3]party
	var resumers [3]coord.Resumer
	for i := range parties {
		parties[i] = s.client(1)
		resumers[i] = parties[i].resumer()
	}
	grants, errs := atOnce(3, func(i int) (coord.Grant, error) {
		return resumers[i].Resume(s.ctx(), withoutHandle(g), rand.Text(), until)
	})
	var winners []int
	for i, err := range errs {
		if err == nil {
			winners = append(winners, i)
		}
	}
	if len(winners) != 1 {
		safetytest.Of(s).Fatalf(
			"participants have resumed %v with tokens of their own at once, and %v of them with success: %v",
			g, winners, grants)
	}
	parties[winners[0]].renew(grants[winners[0]], until+1)
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
	p.crash(g)
	if s.h.Crash != nil {
		p = s.client(1)
	}
	return g, p
}

// resumer returns a participant that can resume grants.
func (p party) resumer() coord.Resumer {
	p.Helper()
	r, ok := p.Coordinator.(coord.Resumer)
	p.need(ok, "this driver cannot resume grants (no coord.Resumer)")
	return r
}

// resume resumes g, without its handle, with a new token.
func (p party) resume(g coord.Grant, until int64) coord.Grant {
	p.Helper()
	return p.resumeAs(g, rand.Text(), until)
}

// resumeAs resumes g, without its handle; it must be the worker ID's next generation.
func (p party) resumeAs(g coord.Grant, token string, until int64) coord.Grant {
	p.Helper()
	r, err := p.resumer().Resume(p.ctx(), withoutHandle(g), token, until)
	g.Token, g.Generation = token, g.Generation+1
	return p.extended(r, err, g, until)
}

// wantNotResumed checks that g cannot be resumed with a new token.
func (p party) wantNotResumed(g coord.Grant, target error) {
	p.Helper()
	_, err := p.resumer().Resume(p.ctx(), withoutHandle(g), rand.Text(), p.at(2))
	p.wantErr("Resume of "+named(g), err, target)
}

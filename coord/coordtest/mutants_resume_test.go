package coordtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// resumeMutants are wrong in what they do with grants that are resumed, or that come
// without their handle.
var resumeMutants = []mutant{
	{
		"resume begins where the window ended",
		"ResumeGoesOn ResumeNeverTrims FloorWithinWindowOfResumption",
		brokenResume(func(c *FakeClient, ctx context.Context, g coord.Grant, token string,
			until int64,
		) (coord.Grant, error) {
			r, err := c.Resume(ctx, g, token, until)
			r.NotBefore = g.NotAfter
			return r, err
		}),
	},
	{
		"resume keeps the old token and generation as well", "ResumeShutsTheFormerHolderOut " +
			"ResumeWhileTheLeaseStands ResumeTwiceAtOnce FloorAboveWantedForResumption",
		broken(func(r *rules) {
			resumed := map[string]string{}
			renamed := r.resumed
			r.resumed = func(s slot, token string) slot {
				resumed[s.token] = token
				return renamed(s, token)
			}
			r.mine = func(_ Op, s slot, g coord.Grant) bool {
				return s.token == g.Token || s.token == resumed[g.Token]
			}
		}),
	},
	{
		"resume keeps the token", "ResumeAndAReplayedAcquire",
		brokenResume(func(c *FakeClient, ctx context.Context, g coord.Grant, token string,
			until int64,
		) (coord.Grant, error) {
			r, err := c.Resume(ctx, g, token, until)
			if err == nil {
				c.fake.space.slots[r.WorkerID].token = g.Token
			}
			return r, err
		}),
	},
	{"resume cannot be repeated", "ResumeRepeatedIsTheSame FloorMakesSeparatePieceOfResumption " +
		"FloorAboveWantedForResumption", broken(func(r *rules) {
		mine := r.mine
		done := map[string]bool{}
		r.resumed = func(s slot, token string) slot {
			done[token] = true
			s.token, s.generation = token, s.generation+1
			return s
		}
		r.mine = func(op Op, s slot, g coord.Grant) bool {
			return mine(op, s, g) && (op != Resume || !done[g.Token])
		}
	})},
	{"what was resumed cannot be released", "ResumeAndRelease", broken(func(r *rules) {
		renamed := r.resumed
		r.resumed = func(s slot, token string) slot { s = renamed(s, token); s.from = s.stored; return s }
	})},
	{"resume without comparing", "ResumeOfWhatIsNotHeld", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool { return mine(op, s, g) || op == Resume }
	})},
	{
		"any token resumes", "ResumeInvalid",
		brokenResume(func(c *FakeClient, ctx context.Context, g coord.Grant, token string,
			until int64,
		) (coord.Grant, error) {
			return c.do(ctx, Call{Op: Resume, Grant: g, Token: token, Until: until})
		}),
	},
	{
		"resume ignores its context", "ResumeWhoseContextHasEnded",
		brokenResume(func(c *FakeClient, ctx context.Context, g coord.Grant, token string,
			until int64,
		) (coord.Grant, error) {
			return c.Resume(context.WithoutCancel(ctx), g, token, until)
		}),
	},
	{"floor ignored at resume", "FloorMakesSeparatePieceOfResumption " +
		"FloorAfterUnnoticedPieceOfResumed FloorAboveWantedForResumption", broken(func(r *rules) {
		r.piece = func(g coord.Grant, _ slot, _ int64) int64 { return g.NotBefore }
	})},
	{"handle of another coordinator refused", "GrantOfAnotherCoordinator", handled(func(w *wrap) {
		w.renew = func(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
			if c, ok := g.Handle.(*FakeClient); ok && c != w.FakeClient {
				return coord.Grant{}, errForeign
			}
			g, err := w.FakeClient.Renew(ctx, g, until)
			g.Handle = w.FakeClient
			return g, err
		}
	})},
	{"release needs the handle", "GrantWithForeignHandle", handled(func(w *wrap) {
		w.release = func(ctx context.Context, g coord.Grant, last int64) error {
			if g.Handle != w.FakeClient {
				return errForeign
			}
			return w.FakeClient.Release(ctx, g, last)
		}
	})},
}

var errForeign = fmt.Errorf("the handle is not mine: %w", errors.ErrUnsupported)

// brokenResume makes a harness whose clients resume in their own way.
func brokenResume(resume func(*FakeClient, context.Context, coord.Grant, string,
	int64) (coord.Grant, error),
) func() Harness {
	return brokenClient(func(_ *Fake, w *wrap) {
		w.resume = func(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant,
			error,
		) {
			return resume(w.FakeClient, ctx, g, token, until)
		}
	})
}

// handled makes a harness whose clients put themselves into the grants that they make.
func handled(change func(*wrap)) func() Harness {
	return brokenClient(func(_ *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			g, err := w.FakeClient.Acquire(ctx, req)
			g.Handle = w.FakeClient
			return g, err
		}
		change(w)
	})
}

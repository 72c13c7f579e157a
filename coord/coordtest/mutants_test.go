package coordtest

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// wrap is a client that breaks something.
type wrap struct {
	*FakeClient
	acquire func(context.Context, coord.Request) (coord.Grant, error)
	renew   func(context.Context, coord.Grant, int64) (coord.Grant, error)
	resume  func(context.Context, coord.Grant, string, int64) (coord.Grant, error)
	release func(context.Context, coord.Grant, int64) error
	close   func() error
}

func (w wrap) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	return w.acquire(ctx, req)
}

func (w wrap) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return w.renew(ctx, g, until)
}

func (w wrap) Resume(
	ctx context.Context, g coord.Grant, token string, until int64,
) (coord.Grant, error) {
	return w.resume(ctx, g, token, until)
}

func (w wrap) Release(ctx context.Context, g coord.Grant, last int64) error {
	return w.release(ctx, g, last)
}

func (w wrap) Close() error { return w.close() }

// broken makes a harness whose rules were changed.
func broken(change func(*rules)) func() Harness {
	return func() Harness {
		f := NewFake(FakeConfig{})
		change(&f.space.rules)
		return fakeHarness(f)
	}
}

// brokenClient makes a harness whose clients were changed.
func brokenClient(change func(*Fake, *wrap)) func() Harness {
	return func() Harness {
		f := NewFake(FakeConfig{})
		h := fakeHarness(f)
		h.Client = func(testing.TB, coord.Range) coord.Coordinator {
			c := f.Client()
			w := wrap{c, c.Acquire, c.Renew, c.Resume, c.Release, c.Close}
			change(f, &w)
			return w
		}
		return h
	}
}

// mutant is a coordinator that is wrong in one way, with the cases that are there to find
// it. Others may fail too.
type mutant struct {
	name    string
	found   string // cases, with spaces between
	harness func() Harness
}

var mutants = []mutant{
	{"generation ignored", "DelayedAcquireResurrectsNothing", broken(func(r *rules) {
		r.mine = func(_ Op, s slot, g coord.Grant) bool { return s.token == g.Token }
	})},
	{"generation ignored at release", "ReleasedTokenIsNewGrant", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool {
			return mine(op, s, g) || op == Release && s.token == g.Token
		}
	})},
	{"token ignored", "WrongTokenOrGeneration", broken(func(r *rules) {
		r.mine = func(_ Op, s slot, g coord.Grant) bool { return s.generation == g.Generation }
	})},
	{"owner ignored at renewal", "OldHolderIsOut", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool { return mine(op, s, g) || op == Renew }
	})},
	{"a free slot is held by who has no token", "NoTokenIsNobodys", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool {
			return mine(op, s, g) || s.token == g.Token && s.generation == g.Generation
		}
	})},
	{"owner ignored at release", "OldHolderIsOut ReleasedIsOut", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool { return mine(op, s, g) || op == Release }
	})},
	{"released grant still renews", "ReleasedIsOut", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool { return mine(op, s, g) || s.token == "" }
	})},
	{
		"stored window without max", "ReorderedRenewalsNeverLower RenewExtends RenewTwiceAtOnce History",
		broken(func(r *rules) {
			r.stores = func(_, wanted int64) int64 { return wanted }
		}),
	},
	{"window not stored", "WindowSurvivesCrash History", broken(func(r *rules) {
		r.stores = func(stored, _ int64) int64 { return stored }
	})},
	{"window from the clock", "WindowSurvivesCrash History", broken(func(r *rules) {
		r.opens = func(_ slot, _, now int64) int64 { return now }
	})},
	{"inclusive lower bound", "WindowSurvivesCrash History", broken(func(r *rules) {
		r.opens = func(s slot, floor, _ int64) int64 { return max(s.stored-1, floor) }
	})},
	{"window in a key with a TTL", "WindowSurvivesCrash History", broken(func(r *rules) {
		opens := r.opens
		r.opens = func(s slot, floor, now int64) int64 {
			if s.token != "" { // its lease is over, or it would not be asked for
				s.stored = 0
			}
			return opens(s, floor, now)
		}
	})},
	{"window that ends before it begins", "WindowBehindTheStoredOneIsEmpty", broken(func(r *rules) {
		r.ends = func(_, wanted int64) int64 { return wanted }
	})},
	{
		"floor ignored at acquire", "FloorHoldsForAcquire FloorAboveWantedForAcquire",
		broken(func(r *rules) {
			r.opens = func(s slot, _, _ int64) int64 { return s.stored }
		}),
	},
	{
		"floor ignored at renewal", "FloorMakesSeparatePieceOfRenewal FloorAboveWantedForRenewal",
		broken(func(r *rules) {
			r.piece = func(g coord.Grant, _ slot, _ int64) int64 { return g.NotBefore }
		}),
	},
	{"floor compared with what is stored", "FloorAfterLostReply", broken(func(r *rules) {
		r.piece = func(g coord.Grant, s slot, floor int64) int64 {
			if floor > s.stored {
				return floor
			}
			return g.NotBefore
		}
	})},
	{
		"floor compared with what is stored, otherwise", "FloorAfterUnnoticedRenewal",
		broken(func(r *rules) {
			r.piece = func(g coord.Grant, s slot, floor int64) int64 {
				if floor > max(s.stored, g.NotAfter) {
					return floor
				}
				return g.NotBefore
			}
		}),
	},
	{"floor always cuts", "FloorWithinWindowOfRenewal", broken(func(r *rules) {
		r.piece = func(g coord.Grant, _ slot, floor int64) int64 { return max(g.NotBefore, floor) }
	})},
	{"release raises", "ReleaseNeverRaises", broken(func(r *rules) {
		r.trim = func(_ slot, last int64) int64 { return last }
	})},
	{"release forgets the window", "ReleaseUnused", broken(func(r *rules) {
		r.trim = func(slot, int64) int64 { return 0 }
	})},
	{"release does not trim", "ReleaseFreesAndTrims", broken(func(r *rules) {
		r.trim = func(s slot, _ int64) int64 { return s.stored }
	})},
	{"replayed acquire is a new grant", "ReplayedAcquireIsTheSameGrant", broken(func(r *rules) {
		r.holds = func(*slot, string) bool { return false }
	})},
	{"layout ignored", "LayoutMismatch", broken(func(r *rules) {
		r.sameLayout = func(string, string) bool { return true }
	})},
	{"generation stands still", "History", broken(func(r *rules) {
		r.next = func(uint64) uint64 { return 1 }
	})},
	{"generation starts at 0", "AcquireGrantsWhatIsWanted", broken(func(r *rules) {
		r.next = func(stored uint64) uint64 { return stored }
	})},
	{"end of the layout ignored", "AcquireStopsAtLastTick", broken(func(r *rules) {
		r.clamp = func(wanted, _ int64) int64 { return wanted }
	})},
	{"lapsed lease is lost", "RenewResumesExpiredLease", broken(func(r *rules) {
		r.resumes = func(lapsed bool) bool { return !lapsed }
	})},
	{"expired grant cannot be released", "ReleaseAfterExpiry", broken(func(r *rules) {
		mine := r.mine
		r.mine = func(op Op, s slot, g coord.Grant) bool {
			return mine(op, s, g) && (op != Release || s.leaseEnd > time.Now().UnixMicro())
		}
	})},
	{"renewal extends nothing", "RenewExtends", broken(func(r *rules) {
		r.stores = func(stored, wanted int64) int64 {
			if stored > 0 {
				return stored
			}
			return wanted
		}
	})},
	{"renewal adds to what is stored", "RenewExtends", broken(func(r *rules) {
		r.stores = func(stored, wanted int64) int64 { return max(stored+1, wanted) }
	})},
	{"renewal makes slots", "WrongTokenOrGeneration", brokenClient(func(_ *Fake, w *wrap) {
		w.renew = func(_ context.Context, g coord.Grant, _ int64) (coord.Grant, error) { return g, nil }
	})},
	{"one worker ID for all", "AcquireUnique AcquireConcurrent", brokenClient(func(f *Fake, w *wrap) {
		f.mu.Lock() // other clients are at it
		f.space.rules.free = func(slot, int64) bool { return true }
		f.mu.Unlock()
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			req.Workers.Count = 1
			return w.FakeClient.Acquire(ctx, req)
		}
	})},
	{"share ignored", "ShareIsRespected", brokenClient(func(f *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			req.Workers = coord.Range{Count: req.Capacity}
			return w.FakeClient.Acquire(ctx, req)
		}
	})},
	{"context ignored", "CancelledContext", brokenClient(func(f *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			return w.FakeClient.Acquire(context.WithoutCancel(ctx), req)
		}
	})},
	{"identity ignored", "StickyIdentity", brokenClient(func(f *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			req.Identity = ""
			return w.FakeClient.Acquire(ctx, req)
		}
	})},
	{"identity gets its old window back", "StickyIdentityAfterAnotherHolder", func() Harness {
		last := map[string]coord.Grant{}
		return brokenClient(func(_ *Fake, w *wrap) {
			w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
				g, err := w.FakeClient.Acquire(ctx, req)
				if old, ok := last[req.Identity]; ok && err == nil {
					g.NotBefore = old.NotBefore
				}
				last[req.Identity] = g
				return g, err
			}
		})()
	}},
	{"identity above all", "StickyIdentityPrefersToOpenInTime", brokenClient(func(f *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			if req.Identity != "" {
				req.OpenBy = req.LastTick
			}
			return w.FakeClient.Acquire(ctx, req)
		}
	})},
	{
		"opening ignored", "AcquirePrefersToOpenInTime AcquireGrantsWhatOpensFirst",
		brokenClient(func(f *Fake, w *wrap) {
			w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
				req.OpenBy = req.LastTick
				return w.FakeClient.Acquire(ctx, req)
			}
		}),
	},
	{"request not checked", "InvalidRequest", brokenClient(func(f *Fake, w *wrap) {
		w.acquire = func(ctx context.Context, req coord.Request) (coord.Grant, error) {
			if req.Fingerprint == "" {
				req.Fingerprint = layoutA
			}
			return w.FakeClient.Acquire(ctx, req)
		}
	})},
	{"close does nothing", "Closed", brokenClient(func(f *Fake, w *wrap) {
		w.close = func() error { return nil }
	})},
	{"one namespace for all", "NamespacesAreIsolated", func() Harness {
		f := NewFake(FakeConfig{})
		h := fakeHarness(f)
		h.OtherNamespace = h.Client
		return h
	}},
	{"no hint", "LostHint", func() Harness {
		f := NewFake(FakeConfig{})
		h := fakeHarness(f)
		h.Expire = func(_ testing.TB, g coord.Grant) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.watchers = map[string]chan struct{}{}
			f.space.slots[g.WorkerID].leaseEnd = 0
		}
		return h
	}},
}

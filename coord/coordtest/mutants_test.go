package coordtest

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// mutant is a coordinator that is wrong in one way, with the cases that are there to find
// it. Others may fail too.
type mutant struct {
	name    string
	found   string // cases, with spaces between
	harness func() Harness
}

// asking makes something else of a request.
func asking(asks func(*coord.Request)) func() Harness { return brokenHarness(wrong{asks: asks}) }

// taking takes other grants than it should.
func taking(takes func(Op, slot, *coord.Grant)) func() Harness {
	return brokenHarness(wrong{takes: takes})
}

// after changes what comes of some operations, where they are done.
func after(change func(m *made), ops ...Op) func() Harness {
	return brokenHarness(wrong{ends: func(m *made) {
		if m.err == nil && slices.Contains(ops, m.op) {
			change(m)
		}
	}})
}

// saying changes what is said of a grant.
func saying(ends func(m *made)) func() Harness { return brokenHarness(wrong{ends: ends}) }

// owner makes a grant that of whoever has the worker ID.
func owner(s slot, g *coord.Grant) { g.Token, g.Generation = s.Token, s.Generation }

var mutants = []mutant{
	{
		"generation ignored", "DelayedAcquireResurrectsNothing ReleasedTokenIsNewGrant",
		taking(func(_ Op, s slot, g *coord.Grant) {
			if g.Token == s.Token {
				owner(s, g)
			}
		}),
	},
	{"token ignored", "WrongTokenOrGeneration", taking(func(_ Op, s slot, g *coord.Grant) {
		if g.Generation == s.Generation {
			owner(s, g)
		}
	})},
	{"owner ignored at renewal", "OldHolderIsOut", taking(func(op Op, s slot, g *coord.Grant) {
		if op == Renew {
			owner(s, g)
		}
	})},
	{"owner ignored at release", "OldHolderIsOut ReleasedIsOut", saying(func(m *made) {
		if m.op == Release {
			m.err = nil
		}
	})},
	{"a free slot is anybody's", "ReleasedIsOut", saying(func(m *made) {
		if m.before.Token == "" {
			m.err = nil
		}
	})},
	{"lapsed lease is lost", "RenewResumesExpiredLease ReleaseAfterExpiry", saying(func(m *made) {
		if m.op != Acquire && m.before.leaseEnd <= time.Now().UnixMicro() {
			m.err = coord.ErrLeaseLost
		}
	})},
	{
		"stored window without max", "ReorderedRenewalsNeverLower RenewExtends RenewTwiceAtOnce History",
		after(func(m *made) { m.stored.NotAfter, m.now.NotAfter = m.until, m.until }, Renew),
	},
	{"window not stored", "WindowSurvivesCrash History", after(func(m *made) {
		m.stored.NotAfter = m.now.NotBefore
	}, Acquire)},
	{
		"window from the clock", "WindowSurvivesCrash History FloorHoldsForAcquire " +
			"StickyIdentityAfterAnotherHolder",
		after(func(m *made) { m.now.NotBefore = m.req.Now }, Acquire),
	},
	{"inclusive lower bound", "WindowSurvivesCrash History", after(func(m *made) {
		m.now.NotBefore = max(m.now.NotBefore-1, 0)
	}, Acquire)},
	{
		"what was wanted is granted", "WindowBehindTheStoredOneIsEmpty AcquireStopsAtLastTick",
		after(func(m *made) { m.now.NotAfter = m.req.Until }, Acquire),
	},
	{
		"floor ignored", "FloorMakesSeparatePieceOfRenewal FloorAboveWantedForRenewal " +
			"FloorMakesSeparatePieceOfResumption FloorAboveWantedForResumption " +
			"FloorAfterUnnoticedPieceOfResumed",
		after(func(m *made) { m.now.NotBefore = m.old.NotBefore }, Renew, Resume),
	},
	{"floor compared with what is stored", "FloorAfterLostReply", after(func(m *made) {
		if m.now.NotBefore <= m.before.NotAfter {
			m.now.NotBefore = m.old.NotBefore
		}
	}, Renew)},
	{
		"an extension begins where the window ended", "RenewExtends FloorWithinWindowOfRenewal " +
			"ResumeGoesOn FloorWithinWindowOfResumption",
		after(func(m *made) { m.now.NotBefore = m.old.NotAfter }, Renew, Resume),
	},
	{"release raises", "ReleaseNeverRaises", after(func(m *made) {
		m.stored.NotAfter = m.until
	}, Release)},
	{"release forgets the window", "ReleaseUnused", after(func(m *made) {
		m.stored.NotAfter = 0
	}, Release)},
	{"release does not trim", "ReleaseFreesAndTrims ResumeAndRelease", after(func(m *made) {
		m.stored.NotAfter = m.before.NotAfter
	}, Release)},
	{
		"replayed acquire is a new grant", "ReplayedAcquireIsTheSameGrant",
		asking(func(req *coord.Request) { req.Token = rand.Text() }),
	},
	{"layout ignored", "LayoutMismatch InvalidRequest", asking(func(req *coord.Request) {
		req.Fingerprint = layoutA
	})},
	{"generation stands still", "History", after(func(m *made) { m.now.Generation = 1 }, Acquire)},
	{"generation starts at 0", "AcquireGrantsWhatIsWanted", after(func(m *made) {
		m.now.Generation--
	}, Acquire)},
	{"one worker ID for all", "AcquireConcurrent", after(func(m *made) {
		m.now.WorkerID = 0
	}, Acquire)},
	{"share ignored", "ShareIsRespected", asking(func(req *coord.Request) {
		req.Workers = coord.Range{Count: req.Capacity}
	})},
	{"identity ignored", "StickyIdentity", asking(func(req *coord.Request) { req.Identity = "" })},
	{
		"opening ignored", "AcquirePrefersToOpenInTime AcquireGrantsWhatOpensFirst " +
			"StickyIdentityPrefersToOpenInTime",
		asking(func(req *coord.Request) { req.OpenBy = req.LastTick }),
	},
	{
		"the generation before does as well", "ResumeShutsTheFormerHolderOut ResumeWhileTheLeaseStands " +
			"ResumeTwiceAtOnce",
		taking(func(_ Op, s slot, g *coord.Grant) {
			if g.Generation+1 == s.Generation {
				owner(s, g)
			}
		}),
	},
	{"resume keeps the token", "ResumeAndAReplayedAcquire", after(func(m *made) {
		m.stored.Token = m.old.Token
	}, Resume)},
	{"resume cannot be repeated", "ResumeRepeatedIsTheSame", saying(func(m *made) {
		if m.op == Resume && m.before.Generation > m.old.Generation {
			m.err = coord.ErrLeaseLost
		}
	})},
	{"resume without comparing", "ResumeOfWhatIsNotHeld", taking(func(op Op, s slot, g *coord.Grant) {
		if op == Resume {
			owner(s, g)
		}
	})},
	{"any token resumes", "ResumeInvalid", brokenHarness(wrong{lax: true})},
	{
		"context ignored", "CancelledContext ResumeWhoseContextHasEnded",
		brokenHarness(wrong{deaf: true}),
	},
	{
		"handle needed", "GrantOfAnotherCoordinator GrantWithForeignHandle",
		brokenHarness(wrong{handled: true}),
	},
	{"close does nothing", "Closed", brokenHarness(wrong{open: true})},
	{"one namespace for all", "NamespacesAreIsolated", func() Harness {
		h := fakeHarness(NewFake(FakeConfig{}))
		h.OtherNamespace = h.Client
		return h
	}},
	{"no hint", "LostHint", func() Harness {
		f := NewFake(FakeConfig{})
		h := fakeHarness(f)
		h.Expire = func(_ testing.TB, g coord.Grant) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.slot(g.WorkerID).leaseEnd = 0
		}
		return h
	}},
}

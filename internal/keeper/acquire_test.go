package keeper_test

import (
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestAcquisitionWithALostReplyIsAskedForAgainByItsToken(t *testing.T) {
	faults := map[string]func(*coordtest.Fake){
		"lost":  func(f *coordtest.Fake) { f.LoseReplies(coordtest.Acquire, 1) },
		"often": func(f *coordtest.Fake) { f.LoseReplies(coordtest.Acquire, 6) },
		"late":  func(f *coordtest.Fake) { f.DelayReplies(coordtest.Acquire, 8*time.Second, 1) },
		"later": func(f *coordtest.Fake) { f.DelayRequests(coordtest.Acquire, 6*time.Second, 1) },
	}
	sameToken := func(t *testing.T, r *rig, from, terms int) {
		t.Helper()
		c := r.calls(coordtest.Acquire, from)
		other := func(one coordtest.Call) bool { return one.Request.Token != c[0].Request.Token }
		if len(c) < 2 || slices.ContainsFunc(c, other) {
			t.Errorf("%d attempts, want 2 and more with one token", len(c))
		}
		r.holds(terms, r.gate.at().Grant.WorkerID)
	}
	each(t, faults, func(t *testing.T, fault func(*coordtest.Fake)) {
		r := newRig(t, 4)
		fault(r.fake)
		r.start()
		pass(2 * time.Minute)
		sameToken(t, r, 0, 1)

		fault(r.fake)
		before := r.fake.Count(coordtest.Acquire)
		lost := r.gate.at().Grant.WorkerID
		r.fake.Steal(lost)
		within(t, 2*time.Minute, "another worker ID", func() bool { return r.gate.published() == 2 })
		pass(10 * time.Second)
		r.fake.Expire(lost)
		sameToken(t, r, before, 2)
	})
}

func TestTokenIsNewAfterADefiniteEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Steal(0)
		r.fake.Fail(coordtest.Acquire, coord.ErrInvalid, coordtest.Forever)
		pass(5 * time.Second)
		seen := map[string]bool{}
		for _, c := range r.fake.CallsOf(coordtest.Acquire) {
			seen[c.Request.Token] = true
		}
		if n := r.fake.Count(coordtest.Acquire); n < 5 || len(seen) != n {
			t.Errorf("%d attempts in 5 seconds, with %d tokens", n, len(seen))
		}
	})
}

func TestTokensNeverRepeatAcrossGrants(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 4)
		other := join(t, r.fake, r.led)
		other.start()
		for range 50 {
			r.fake.Steal(r.gate.at().Grant.WorkerID)
			pass(1100 * time.Millisecond)
			for _, id := range r.fake.Holders() {
				if id != r.gate.at().Grant.WorkerID && id != other.gate.at().Grant.WorkerID {
					r.fake.Expire(id)
				}
			}
		}
		tokens := map[string]bool{}
		for _, term := range r.led.terms {
			tokens[term.Grant.Token] = true
		}
		if n := len(r.led.terms); len(tokens) != n || n < 50 {
			safetytest.Of(t).Errorf("%d terms have %d tokens", n, len(tokens))
		}
	})
}

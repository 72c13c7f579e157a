package keeper_test

import (
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

func TestAcquisitionWithALostReplyIsAskedForAgainByItsToken(t *testing.T) {
	faults := map[string]func(*coordtest.Fake){
		"lost":  func(f *coordtest.Fake) { f.LoseReplies(coordtest.Acquire, 1) },
		"often": func(f *coordtest.Fake) { f.LoseReplies(coordtest.Acquire, 6) },
		"late":  func(f *coordtest.Fake) { f.DelayReplies(coordtest.Acquire, 8*time.Second, 1) },
		"later": func(f *coordtest.Fake) { f.DelayRequests(coordtest.Acquire, 6*time.Second, 1) },
	}
	for name, fault := range faults {
		t.Run("at the start, "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 4)
				fault(r.fake)
				r.start()
				pass(2 * time.Minute)
				sameTokenAndNoLeak(t, r, 0)
			})
		})
		t.Run("after a loss, "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := start(t, 4)
				fault(r.fake)
				thief := r.fake.Steal(0)
				within(t, 2*time.Minute, "another worker ID", func() bool { return r.gate.published() == 2 })
				pass(10 * time.Second)
				if err := r.fake.Client().Release(t.Context(), thief, thief.NotBefore); err != nil {
					t.Fatal(err)
				}
				sameTokenAndNoLeak(t, r, 1)
			})
		})
	}
}

func sameTokenAndNoLeak(t *testing.T, r *rig, from int) {
	t.Helper()
	c := r.calls(coordtest.Acquire, from)
	if len(c) < 2 || slices.ContainsFunc(c, func(one coordtest.Call) bool { return one.Request.Token != c[0].Request.Token }) {
		t.Errorf("%d attempts, want 2 and more with one token", len(c))
	}
	if h := r.fake.Holders(); len(h) != 1 || h[0] != r.gate.at().Grant.WorkerID {
		t.Errorf("held are %v, in use is %v", h, r.gate.at().Grant)
	}
}

func TestTokenIsNewAfterADefiniteEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Steal(0)
		pass(5 * time.Second)
		seen := map[string]bool{}
		for _, c := range r.fake.CallsOf(coordtest.Acquire) {
			if seen[c.Request.Token] {
				t.Errorf("token %q was used for another attempt after %v", c.Request.Token, coord.ErrNoWorkerID)
			}
			seen[c.Request.Token] = true
		}
		if len(seen) < 5 {
			t.Errorf("%d attempts in 5 seconds", len(seen))
		}
	})
}

func TestTokensNeverRepeatAcrossGrants(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tokens := map[string]bool{}
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
		terms := append(append([]*term{}, r.gate.mine...), other.gate.mine...)
		for _, term := range terms {
			tokens[term.Grant.Token] = true
		}
		if len(tokens) != len(terms) || len(tokens) < 50 {
			t.Errorf("%d terms have %d tokens", len(terms), len(tokens))
		}
	})
}

func TestIdentityGetsItsWorkerIDBackAboveItsLastTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		named := func(c *keeper.Config) { c.Request.Identity = "host-1" }
		r := start(t, 4, named)
		r.stampFor(time.Second)
		if err := r.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := join(t, r.fake, r.led, named)
		again.start()
		if first, second := r.gate.at(), again.gate.at(); second.Grant.WorkerID != first.Grant.WorkerID || second.from != first.last {
			t.Errorf("%v stamped up to tick %d; after it %v", first.Grant, first.last, second.Grant)
		}
	})
}

package keeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

func TestLostLeaseShutsTheGateBeforeTheNextAcquisition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		first := r.gate.at()
		asked := false
		r.line.set(func(l *line) {
			l.onAcquire = func(req coord.Request) {
				asked = true
				if !r.gate.at().shut {
					t.Error("a worker ID is acquired while the gate of the lost one is open")
				}
				if req.Token == first.Grant.Token {
					t.Error("the token of the lost grant is used again")
				}
			}
		})
		r.fake.Steal(0)
		within(t, time.Second, "another worker ID is published", func() bool { return r.gate.published() == 2 })
		if got := r.gate.at(); !asked || got.shut || got.Grant.WorkerID != 1 || !r.gate.stamp() {
			t.Errorf("the term after the lost one is %+v", got)
		}
		if why := r.gate.reason(); why != nil {
			t.Errorf("the reason is still %q", why)
		}
		if all := r.gate.shuts; len(all) == 0 || !errors.Is(all[0].reason, coord.ErrLeaseLost) {
			t.Errorf("the gate was shut: %+v", all)
		}
	})
}

// The same worker ID again, after somebody else: a new generation, and a window
// above everything that was stored.
func TestWorkerIDIsTakenBackAboveItsThief(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.stampFor(3 * time.Second)
		thief := r.fake.Steal(0)
		pass(2 * time.Second)
		if !r.gate.at().shut || r.gate.reason() == nil {
			t.Fatalf("the worker ID is somebody else's, and the term is %+v because %v", r.gate.at(), r.gate.reason())
		}
		r.fake.Expire(0)
		within(t, 1100*time.Millisecond, "the worker ID is held again", func() bool { return r.gate.published() == 2 })
		got := r.gate.at().Grant
		if got.Generation <= thief.Generation || got.NotBefore < thief.NotAfter {
			t.Errorf("taken back is %v, the thief had %v", got, thief)
		}
		if why := r.gate.reason(); why != nil {
			t.Errorf("the worker ID is held again, and the reason is still %q", why)
		}
		within(t, horizon, "the window opens", r.gate.stamp)
	})
}

func TestLostWorkerIDIsAskedForAtMostASecondApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Steal(0)
		pass(time.Minute)
		gaps := gapsOf(r.calls(coordtest.Acquire, 1))
		for i, g := range gaps {
			if g > time.Second || i > 10 && g < time.Second/2 {
				t.Errorf("attempt %d came after %v", i, g)
			}
		}
		if n := len(gaps); n < 50 {
			t.Errorf("%d attempts in a minute", n)
		}
		const want = `no worker ID: coord: no free worker ID in namespace "fake": 1 of 1 are held`
		if why := r.gate.reason(); why == nil || len(why.Error()) < len(want) || why.Error()[:len(want)] != want {
			t.Errorf("the reason is %q, want %q and more", why, want)
		}
	})
}

func TestHintOfAnExpiredLeaseResumesItWithoutAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		for range 10 {
			pass(2 * time.Second)
			n := r.fake.Count(coordtest.Renew)
			r.fake.Expire(0)
			pass(time.Millisecond)
			if got := r.fake.Count(coordtest.Renew) - n; got != 1 {
				t.Fatalf("%d renewals after the hint, want 1", got)
			}
			if h := r.fake.Holders(); len(h) != 1 || h[0] != 0 {
				t.Fatalf("held are %v, want 0 again", h)
			}
		}
		if got := r.gate.at(); got.shut || got.Grant.Generation != 1 || r.gate.published() != 1 {
			t.Errorf("after %d terms: %+v", r.gate.published(), got)
		}
	})
}

func TestHintOfAStolenLeaseIsActedOnAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		pass(time.Second)
		r.fake.Steal(0)
		pass(time.Millisecond)
		if got := r.gate.at(); got.shut || got.Grant.WorkerID != 1 {
			t.Errorf("a moment after the theft: %+v", got)
		}
		r.fake.Expire(1) // the hint works for the new grant too
		pass(time.Second)
		if h := r.fake.Holders(); len(h) != 2 || r.gate.at().Grant.WorkerID != 1 {
			t.Errorf("held are %v, the term is %+v", h, r.gate.at())
		}
	})
}

func TestHintsWithoutEndDoNotMakeTheKeeperBusy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone := make(chan struct{})
		close(gone)
		r := newRig(t, 1)
		r.line.lost = func(coord.Grant) <-chan struct{} { return gone }
		r.start()
		pass(time.Minute)
		if n := r.fake.Count(coordtest.Renew); n > 130 {
			t.Errorf("%d renewals in a minute", n)
		}
	})
}

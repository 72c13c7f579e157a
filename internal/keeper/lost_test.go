package keeper_test

import (
	"errors"
	"strings"
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
		r.stamps(time.Second)
		r.because(nil)
		if !asked || r.gate.at().Grant.WorkerID != 1 {
			t.Errorf("the term after the lost one is %+v", r.gate.at())
		}
		if all := r.gate.shuts; len(all) == 0 || !errors.Is(all[0].reason, coord.ErrLeaseLost) {
			t.Errorf("the gate was shut: %+v", all)
		}
	})
}

func TestLostWorkerIDIsAskedForAtMostASecondApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Steal(0)
		pass(time.Minute)
		r.paced(coordtest.Acquire, 1, 50, time.Second)
		const want = `no worker ID: coord: no free worker ID in namespace "fake": 1 of 1 are held`
		if why := r.gate.reason(); why == nil || !strings.HasPrefix(why.Error(), want) {
			t.Errorf("the reason is %q, want %q and more", why, want)
		}
	})
}

func TestHintOfAnExpiredLeaseResumesItWithoutAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		for range 10 {
			pass(2 * time.Second)
			before := r.fake.Count(coordtest.Renew)
			r.fake.Expire(0)
			pass(time.Millisecond)
			r.made(coordtest.Renew, before, 1, 1)
			r.holds(1, 0)
		}
		if got := r.gate.at(); got.shut || got.Grant.Generation != 1 {
			t.Errorf("the term is %+v", got)
		}
	})
}

func TestHintOfAStolenLeaseIsActedOnAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 2)
		pass(time.Second)
		r.fake.Steal(0)
		pass(time.Millisecond)
		r.stamps(0)
		r.fake.Expire(1) // the hint works for the new grant too
		pass(time.Second)
		r.holds(2, 0, 1)
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
		r.made(coordtest.Renew, 0, 0, 130)
	})
}

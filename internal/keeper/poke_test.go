package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

// storm pokes the keeper every 100 us.
func (r *rig) storm(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.Poke()
		pass(100 * time.Microsecond)
	}
}

func TestPokesWithoutAReasonMakeNoCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		before := r.gate.looks()
		r.storm(3 * time.Second)
		if n := len(r.fake.Calls()); n != 1 {
			t.Errorf("%d calls, want the acquisition alone", n)
		}
		if n := r.gate.looks() - before; n > 650 {
			t.Errorf("the keeper looked %d times in 3 s", n)
		}
	})
}

func TestPokesDuringAnOutageDoNotHurryTheRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Refuse(true)
		pass(horizon + every)
		before := r.fake.Count(coordtest.Renew)
		r.storm(5 * time.Second)
		if n := r.fake.Count(coordtest.Renew) - before; n > 12 {
			t.Errorf("%d renewals in 5 s", n)
		}
	})
}

// The back end's clock is far behind: it renews, and the window stays in the past.
func TestPokesThatDoNotHelpAreNotRenewedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		renewals := 0
		r := script(t, time.Second, func(g coord.Grant, _ int64) (coord.Grant, error) {
			renewals++
			return g, nil
		})
		pass(2 * time.Second)
		r.storm(5 * time.Second)
		if renewals > 12 {
			t.Errorf("%d renewals in 5 s", renewals)
		}
	})
}

func TestPokesWhileNothingIsHeldDoNotHurryTheAcquisition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		r.fake.Steal(0)
		pass(5 * time.Second)
		before := r.fake.Count(coordtest.Acquire)
		r.storm(5 * time.Second)
		if n := r.fake.Count(coordtest.Acquire) - before; n > 12 {
			t.Errorf("%d acquisitions in 5 s", n)
		}
	})
}

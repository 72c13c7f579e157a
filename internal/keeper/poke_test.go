package keeper_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
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

// What a poke cannot help is not hurried by it.
func TestPokesDuringAnOutageDoNotHurryTheRetries(t *testing.T) {
	each(t, map[string]func(*testing.T) *rig{
		"outage": func(t *testing.T) *rig {
			r := start(t, 1)
			r.fake.Refuse(true)
			return r
		},
		"nothing is held": func(t *testing.T) *rig {
			r := start(t, 1)
			r.fake.Steal(0)
			return r
		},
		"a window that stays in the past": func(t *testing.T) *rig {
			r := newRig(t, 1)
			r.line.renewed = func(old, _ coord.Grant, _ error) (coord.Grant, error) { return old, nil }
			r.start()
			return r
		},
	}, func(t *testing.T, prepare func(*testing.T) *rig) {
		r := prepare(t)
		pass(horizon + every)
		before := len(r.fake.Calls())
		r.storm(5 * time.Second)
		if n := len(r.fake.Calls()) - before; n > 12 {
			t.Errorf("%d calls in 5 s", n)
		}
	})
}

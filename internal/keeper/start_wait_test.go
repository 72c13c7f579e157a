package keeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// refusing makes a keeper whose acquisitions fail with what err returns, until that is nil.
func refusing(t *testing.T, err func() error, edit ...func(*keeper.Config)) *rig {
	t.Helper()
	r := newRig(t, 1, edit...)
	r.line.acquired = func(g coord.Grant, _ error) (coord.Grant, error) {
		if e := err(); e != nil {
			r.fake.Expire(g.WorkerID)
			return coord.Grant{}, e
		}
		return g, nil
	}
	return r
}

func TestStartWaitsForTheLeaseOfADeadHolder(t *testing.T) {
	for _, held := range []time.Duration{ttl, 40 * time.Second} { // as long as its own, and longer
		bubble(t, func(t *testing.T) {
			r := newRig(t, 1)
			dead := join(t, r.fake, r.led, func(c *keeper.Config) {
				c.Lease.TTL, c.Request.TTL = held,
					held
			})
			dead.start()
			_ = dead.line.Close() // and it is never heard of again
			// It looks again after 1.5 s at most.
			if err := r.lasts(held, held+1600*time.Millisecond, r.Start); err != nil {
				t.Errorf("Start: %v", err)
			}
			until := r.calls(coordtest.Acquire, 0)[0].At.Add(held + 5*time.Second)
			r.logged(`level=WARN, msg="every worker ID is held, waiting for one to become free", error=, `+
				`lease_ends=, trying_until=`+stamped(until), `level=WARN, msg="worker ID acquired", after=`)
		})
	}
}

// A holder that lives may stop, and does so often where programs are replaced by others.
func TestStartWaitsForAHolderThatLives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, 1)
		pass(time.Minute)
		time.AfterFunc(8*time.Second, r.stop)
		other := join(t, r.fake, r.led)
		if err := other.lasts(8*time.Second, 9500*time.Millisecond, other.Start); err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

// TestStartWaitsForHoldersWhoMayBeDead: a start goes on as long as a holder may be dead, of whose
// lease or clock an acquisition tells, and not longer.
func TestStartWaitsForHoldersWhoMayBeDead(t *testing.T) {
	const s = time.Second
	held := func(soonest time.Duration, began time.Time) error {
		return &coord.NoWorkerIDError{Soonest: began.Add(soonest)}
	}
	skewed := func(until time.Duration, began time.Time) error {
		return &coord.ClockSkewError{Until: began.Add(until)}
	}
	type refusal struct {
		says        func(passed time.Duration, began time.Time) error
		want        error
		least, most time.Duration
	}
	each(t, map[string]refusal{
		// What a look does not learn is no sign of life.
		"a look learns nothing, and the lease ends": {func(passed time.Duration, began time.Time) error {
			switch {
			case passed < 3*s:
				return held(10*s, began)
			case passed < 10*s:
				return &coord.NoWorkerIDError{}
			}
			return nil
		}, nil, 10 * s, 12 * s},
		"a look learns nothing": {func(passed time.Duration, began time.Time) error {
			if passed < 3*s {
				return held(10*s, began)
			}
			return &coord.NoWorkerIDError{}
		}, coord.ErrNoWorkerID, 10 * s, ttl + 7*s},
		// Back ends end leases late, and then say that it may be any moment.
		"a lease ends late": {func(passed time.Duration, began time.Time) error {
			if passed > 8*s {
				return nil
			}
			return held(max(4*s, passed+s), began)
		}, nil, 8 * s, 13 * s},
		"a lease without end": {func(_ time.Duration, began time.Time) error {
			return held(10*s, began)
		}, coord.ErrNoWorkerID, ttl + 5*s, ttl + 7*s},
		// That leases cannot be read for a while says nothing about when they end.
		"a long lease, which is not read again": {func(passed time.Duration, began time.Time) error {
			switch {
			case passed < 3*s:
				return held(60*s, began)
			case passed < 40*s:
				return errors.New("not read")
			}
			return nil
		}, nil, 40 * s, 42 * s},
		"clocks differ, and the holder is dead": {func(passed time.Duration, began time.Time) error {
			if passed > 12*s {
				return nil
			}
			return skewed(12*s, began)
		}, nil, 12 * s, 14 * s},
		"clocks differ, and the holder may live": {func(_ time.Duration, began time.Time) error {
			return skewed(12*s, began)
		}, coord.ErrClockSkew, 17 * s, 19 * s},
		"clocks differ, and the holder lives": {func(passed time.Duration, began time.Time) error {
			if passed < 4*s {
				return skewed(12*s, began)
			}
			return &coord.ClockSkewError{}
		}, coord.ErrClockSkew, 4 * s, 6 * s},
	}, func(t *testing.T, c refusal) {
		// The clock of a machine that starts may be set meanwhile, by hours. A wait is as long
		// as it was to be all the same.
		for _, step := range []time.Duration{0, -time.Hour, time.Hour} {
			began := time.Now()
			r := refusing(t, func() error { return c.says(time.Since(began), began) })
			time.AfterFunc(s, func() { r.clock.Step(step) })
			if err := r.lasts(c.least, c.most, r.Start); !errors.Is(err, c.want) {
				t.Errorf("Start: %v, want %v", err, c.want)
			}
			if len(r.log.news()) == 0 {
				t.Error("nothing was logged")
			}
		}
	})
}

// TestStartEndsInTimeBesideAThousand: the pauses are long where many hold a worker ID, and the last
// attempt is in time all the same.
func TestStartEndsInTimeBesideAThousand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		r := refusing(t, func() error {
			if time.Since(began) < time.Second {
				return &coord.NoWorkerIDError{InUse: 1024, Soonest: began.Add(10 * time.Second)}
			}
			return &coord.ClockSkewError{Until: began.Add(30 * time.Second)}
		})
		err := r.lasts(35*time.Second, 37*time.Second, r.Start)
		if !errors.Is(err, coord.ErrClockSkew) {
			t.Errorf("Start: %v", err)
		}
	})
}

// A window that opens in years is no reason to wait in silence.
func TestLogTellsOfAWindowThatOpensInYears(t *testing.T) {
	const acquired, delay = "worker ID acquired", `level=WARN, ` +
		`msg="the window opens later than any right clock can have pushed it, worker_id=0, opens=`
	declared := coord.LeaseRules{MaxHorizon: 2 * time.Minute, Declared: 6 * time.Hour}
	type window struct {
		opens time.Duration
		rules coord.LeaseRules
		delay bool
	}
	each(t, map[string]window{
		"soon":     {horizon + ttl, coord.LeaseRules{}, false},
		"declared": {6 * time.Hour, declared, false},
		"in years": {35 * 365 * 24 * time.Hour, declared, true},
	}, func(t *testing.T, c window) {
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 1, Rules: c.rules})
		r := join(t, f, newLedger(t, f), func(c *keeper.Config) { c.Request.LastTick = 1 << 42 })
		opens := scale.Tick(time.Now().Add(c.opens).UnixMicro())
		f.RaiseFloor(opens - 1)
		r.start()
		if c.delay {
			r.logged(acquired, delay+moment(opens))
		} else {
			r.logged(acquired)
		}
	})
}

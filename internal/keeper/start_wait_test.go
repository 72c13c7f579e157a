package keeper_test

import (
	"errors"
	"fmt"
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

// crashed takes a worker ID and is never heard of again.
func crashed(t *testing.T, f *coordtest.Fake, led *ledger, edit ...func(*keeper.Config)) {
	t.Helper()
	r := join(t, f, led, edit...)
	r.start()
	_ = r.line.Close()
}

func TestStartIsRefusedAtOnceWhereNothingIsKnownOfTheHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := refusing(t, func() error { return &coord.NoWorkerIDError{} })
		began := time.Now()
		if err := r.Start(t.Context()); !errors.Is(err, coord.ErrNoWorkerID) || time.Since(began) != 0 {
			t.Errorf("Start took %v: %v", time.Since(began), err)
		}
	})
}

func TestStartWaitsForTheLeaseOfADeadHolder(t *testing.T) {
	for name, held := range map[string]time.Duration{"as long as its own": ttl, "longer": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log journal
				r := newRig(t, 1, log.keep)
				crashed(t, r.fake, r.led, func(c *keeper.Config) { c.Lease.TTL, c.Request.TTL = held, held })
				ends := r.fake.Slot(0).LeaseEnd
				r.start()
				if late := time.Since(ends); late < 0 || late > 1250*time.Millisecond {
					t.Errorf("Start returned %v after the lease had ended", late)
				}
				until := ends.Add(5 * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
				log.wants(t, `level=WARN, msg="every worker ID is held, waiting for one to become free", trying_until=`+until, `level=WARN, msg="worker ID acquired"`)
			})
		})
	}
}

// What a look does not learn is no sign of life.
func TestStartGoesOnWhereALookLearnsNothing(t *testing.T) {
	for name, ends := range map[string]bool{"the lease ends": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				began := time.Now()
				r := refusing(t, func() error {
					switch passed := time.Since(began); {
					case passed < 3*time.Second:
						return &coord.NoWorkerIDError{Soonest: began.Add(10 * time.Second)}
					case !ends || passed < 10*time.Second:
						return &coord.NoWorkerIDError{}
					}
					return nil
				})
				err := r.Start(t.Context())
				if took := time.Since(began); (err == nil) != ends || took > ttl+7*time.Second {
					t.Errorf("Start took %v: %v", took, err)
				}
			})
		})
	}
}

// Back ends end leases late, and then say that it may be any moment.
func TestStartWaitsForALeaseThatEndsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		r := refusing(t, func() error {
			now := time.Now()
			if now.After(began.Add(8 * time.Second)) {
				return nil
			}
			soonest := began.Add(4 * time.Second)
			if soonest.Before(now) {
				soonest = now.Add(time.Second)
			}
			return &coord.NoWorkerIDError{Soonest: soonest}
		})
		r.start()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("Start took %v", took)
		}
	})
}

func TestStartDoesNotWaitForALeaseWithoutEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		soonest := time.Now().Add(10 * time.Second)
		r := refusing(t, func() error { return &coord.NoWorkerIDError{Soonest: soonest} })
		began := time.Now()
		err := r.Start(t.Context())
		if took := time.Since(began); took < ttl+5*time.Second || took > ttl+7*time.Second || !errors.Is(err, coord.ErrNoWorkerID) {
			t.Errorf("Start took %v: %v", took, err)
		}
	})
}

// The clock of a machine that starts may be set meanwhile, by hours. A wait is as long as
// it was to be all the same.
func TestStartWaitsNoLongerForAClockThatIsSet(t *testing.T) {
	for name, refusal := range map[string]func(began time.Time) error{
		"held":   func(began time.Time) error { return &coord.NoWorkerIDError{Soonest: began.Add(10 * time.Second)} },
		"skewed": func(began time.Time) error { return &coord.ClockSkewError{Until: began.Add(ttl)} },
	} {
		for _, step := range []time.Duration{-time.Hour, time.Hour} {
			t.Run(fmt.Sprint(name, step), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					began := time.Now()
					r := refusing(t, func() error { return refusal(began) })
					time.AfterFunc(5*time.Second, func() { r.clock.Step(step) })
					err := r.Start(t.Context())
					if took := time.Since(began); err == nil || took < ttl+5*time.Second || took > ttl+7*time.Second {
						t.Errorf("Start took %v: %v", took, err)
					}
				})
			})
		}
	}
}

func TestStartWaitsForHoldersWhoMayBeDeadToTellWhoseClockIsWrong(t *testing.T) {
	for name, ends := range map[string]bool{"dead": true, "alive": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log journal
				began := time.Now()
				until := began.Add(12 * time.Second)
				r := refusing(t, func() error {
					if ends && time.Now().After(until) {
						return nil
					}
					return &coord.ClockSkewError{Until: until}
				}, log.keep)
				err := r.Start(t.Context())
				took := time.Since(began)
				if ends && (err != nil || took < 12*time.Second || took > 14*time.Second) {
					t.Errorf("Start took %v: %v", took, err)
				}
				if !ends && (!errors.Is(err, coord.ErrClockSkew) || took < 17*time.Second || took > 19*time.Second) {
					t.Errorf("Start took %v: %v", took, err)
				}
				if got := log.news(); len(got) == 0 {
					t.Error("nothing was logged")
				}
			})
		})
	}
}

func TestStartIsRefusedWhenTheHoldersTurnOutToLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		r := refusing(t, func() error {
			skew := &coord.ClockSkewError{}
			if time.Since(began) < 4*time.Second {
				skew.Until = began.Add(12 * time.Second)
			}
			return skew
		})
		if err := r.Start(t.Context()); !errors.Is(err, coord.ErrClockSkew) || time.Since(began) > 6*time.Second {
			t.Errorf("Start took %v: %v", time.Since(began), err)
		}
	})
}

// A window that opens in years is no reason to wait in silence.
func TestLogTellsOfAWindowThatOpensInYears(t *testing.T) {
	for name, tt := range map[string]struct {
		opens time.Duration
		lines []string
		rules coord.LeaseRules
	}{
		"soon":     {horizon + ttl, []string{"worker ID acquired"}, coord.LeaseRules{}},
		"declared": {6 * time.Hour, []string{"worker ID acquired"}, coord.LeaseRules{MaxHorizon: 2 * time.Minute, Declared: 6 * time.Hour}},
		"in years": {35 * 365 * 24 * time.Hour, []string{"worker ID acquired", `level=WARN, msg="the window opens later than any right clock can have pushed it, worker_id=0`}, coord.LeaseRules{MaxHorizon: 2 * time.Minute, Declared: 6 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log journal
				f := coordtest.NewFake(coordtest.FakeConfig{Workers: 1, Rules: tt.rules})
				r := join(t, f, newLedger(t, f), log.keep, func(c *keeper.Config) { c.Request.LastTick = 1 << 42 })
				opens := time.Now().Add(tt.opens)
				r.fake.RaiseFloor(scale.Tick(opens.UnixMicro()) - 1)
				r.start()
				if len(tt.lines) > 1 {
					tt.lines[1] += ", opens=" + moment(scale.Tick(opens.UnixMicro()))
				}
				log.wants(t, tt.lines...)
			})
		})
	}
}

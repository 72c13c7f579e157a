package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

func TestStartReturnsPermanentErrorsAtOnce(t *testing.T) {
	each(t, map[string]error{
		"layout": coord.ErrLayoutMismatch, "clock": coord.ErrClockSkew, "invalid": coord.ErrInvalid,
		"closed":                          coord.ErrClosed,
		"nothing is known of the holders": &coord.NoWorkerIDError{},
	}, func(t *testing.T, want error) {
		r := newRig(t, 1)
		r.fake.Fail(coordtest.Acquire, want, coordtest.Forever)
		if err := r.lasts(0, 0, r.Start); !errors.Is(err, want) {
			t.Errorf("Start: %v, want %v", err, want)
		}
		r.made(coordtest.Acquire, 0, 1, 1)
	})
}

func TestStartWaitsOutAQuarantineHoweverLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		until := time.Now().Add(4 * ttl)
		r.fake.Fail(coordtest.Acquire, &coord.QuarantinedError{Until: until}, coordtest.Forever)
		time.AfterFunc(4*ttl, r.fake.Recover)
		if err := r.lasts(4*ttl, 4*ttl+2*time.Second, r.Start); err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

// timeout sets how long a start goes on.
func timeout(d time.Duration) func(*keeper.Config) {
	return func(c *keeper.Config) { c.StartTimeout = d }
}

// The end of a wait is that of whatever ends first, and it is told when that is. Who gives up
// does not say that it tries again, until a time that is over.
func TestStartEndsWithItsContext(t *testing.T) {
	refused := func(r *rig) { r.fake.Refuse(true) }
	silent := func(r *rig) { r.fake.Outage(true) }
	const again = `level=WARN, msg="worker ID not acquired, trying again", trying_until=`
	waits := []string{`level=WARN, msg="no worker ID yet, waiting for the coordinator to answer", ` +
		`at_most=2s`}
	type wait struct {
		back               func(*rig)
		timeout, ctx, took time.Duration
		log                []string
	}
	each(t, map[string]wait{
		"silent":      {silent, time.Minute, 2 * time.Second, 2 * time.Second, waits},
		"its timeout": {silent, 2 * time.Second, time.Minute, 2 * time.Second, waits},
		"refused": {refused, 0, 7 * time.Second, 7 * time.Second, []string{again +
			"2000-01-01T00:00:07."}},
		"without a timeout": {refused, -1, time.Hour, time.Hour, []string{again +
			"2000-01-01T01:00:00.000Z"}},
		"ended already": {refused, 0, 0, 0, nil},
	}, func(t *testing.T, c wait) {
		r := newRig(t, 1, timeout(c.timeout))
		c.back(r)
		ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
		defer cancel()
		if err := r.lastsIn(ctx, c.took, c.took, r.Start); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v", err)
		}
		r.logged(c.log...)
		r.holds(0)
	})
}

// A clock that differs does not make a time of what has no end.
func TestStartWithoutEndSaysSoAlsoWhereClocksDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		skew := &coord.ClockSkewError{Until: time.Now().Add(ttl)}
		r := refusing(t, func() error { return skew }, timeout(-1))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := r.Start(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Start: %v", err)
		}
		r.logged(`level=WARN, msg="worker ID not acquired, trying again", trying_until="it succeeds"`)
	})
}

func TestStartGoesOnWhenTheBackEndComesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.fake.Refuse(true)
		time.AfterFunc(7*time.Second, func() { r.fake.Refuse(false) })
		if err := r.lasts(7*time.Second, 8*time.Second, r.Start); err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

func TestStartOfAStoppedKeeperLeasesNothing(t *testing.T) {
	for name, stop := range map[string]func(*rig){
		"stopped": (*rig).stop,
		"closed":  func(r *rig) { r.gate.close() },
	} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, 1)
			stop(r)
			if err := r.Start(t.Context()); err == nil || err.Error() != "generator closed meanwhile" {
				t.Errorf("%s: Start: %v", name, err)
			}
			r.holds(0)
		})
	}
}

// The error says that there is no worker ID, and only after the start timeout.
func TestStartTimeoutIsItsOwn(t *testing.T) {
	for _, limit := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 5 * time.Minute} {
		each(t, map[string]func(*rig){
			"refused": func(r *rig) { r.fake.Refuse(true) },
			"silent":  func(r *rig) { r.fake.Outage(true) },
			"all held": func(r *rig) { // for ever
				r.line.acquired = func(coord.Grant, error) (coord.Grant, error) {
					return coord.Grant{}, &coord.NoWorkerIDError{Soonest: time.Now().Add(ttl)}
				}
			},
		}, func(t *testing.T, back func(*rig)) {
			r := newRig(t, 1, timeout(limit))
			back(r)
			err := r.lasts(limit, limit+time.Second, r.Start)
			if err == nil || !strings.HasPrefix(err.Error(), "no worker ID after ") {
				t.Errorf("Start: %v", err)
			}
		})
	}
}

// A coordinator that no longer answers does not hide what it has said, and one that is silent
// does not hide what was wrong before.
func TestStartSaysThatAllAreHeldAlsoIfThereIsNoAnswerSince(t *testing.T) {
	each(t, map[string][2]error{
		"held": {
			&coord.NoWorkerIDError{Soonest: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)},
			coordtest.ErrUnreachable,
		},
		"silent": {coordtest.ErrUnreachable, context.DeadlineExceeded},
	}, func(t *testing.T, says [2]error) {
		r := newRig(t, 1, timeout(10*time.Second))
		asked := 0
		r.line.acquired = func(coord.Grant, error) (coord.Grant, error) {
			if asked++; asked > 3 {
				return coord.Grant{}, says[1]
			}
			return coord.Grant{}, says[0]
		}
		if err := r.Start(t.Context()); !errors.Is(err, says[0]) || !errors.Is(err, says[1]) {
			t.Errorf("Start: %v", err)
		}
	})
}

func TestBeginGoesOnWhateverFails(t *testing.T) {
	each(t, map[string]error{
		"unreachable": coordtest.ErrUnreachable, "all held": coord.ErrNoWorkerID,
		"layout": coord.ErrLayoutMismatch, "invalid": coord.ErrInvalid,
	}, func(t *testing.T, err error) {
		r := newRig(t, 1)
		r.fake.Fail(coordtest.Acquire, err, coordtest.Forever)
		r.Begin()
		pass(time.Hour)
		r.because(err)
		r.fake.Recover()
		if r.stamps(16 * time.Second); errors.Is(err, coordtest.ErrUnreachable) {
			r.made(coordtest.Acquire, 0, 3000, 1<<20) // about one a second
		}
		r.logged(`level=WARN, msg="worker ID not acquired, trying again", trying_until="it succeeds"`,
			`level=WARN, msg="worker ID acquired", after=1h0m`)
	})
}

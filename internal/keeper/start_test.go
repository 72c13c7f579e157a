package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

func TestStartReturnsPermanentErrorsAtOnce(t *testing.T) {
	for _, want := range []error{coord.ErrNoWorkerID, coord.ErrLayoutMismatch, coord.ErrClockSkew, coord.ErrInvalid, coord.ErrClosed} {
		t.Run(want.Error(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 1)
				r.fake.Fail(coordtest.Acquire, want, coordtest.Forever)
				began := time.Now()
				if err := r.Start(t.Context()); !errors.Is(err, want) {
					t.Errorf("Start: %v, want %v", err, want)
				}
				if took, n := time.Since(began), r.fake.Count(coordtest.Acquire); took != 0 || n != 1 {
					t.Errorf("Start took %v and %d attempts", took, n)
				}
			})
		})
	}
}

// The deadlines grow, and an attempt that has begun may end.
func TestStartEndsWhenEveryCallHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.fake.Outage(true)
		began := time.Now()
		err := r.Start(t.Context())
		if took := time.Since(began); took < ttl+5*time.Second || took > 2*ttl+5*time.Second {
			t.Errorf("Start took %v", took)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "no worker ID after ") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v", err)
		}
		if n := r.fake.Count(coordtest.Acquire); n < 4 || n > 2*int(2*ttl/every) {
			t.Errorf("Start made %d calls, want between one and two in each renewal interval", n)
		}
	})
}

func TestStartWaitsOutAQuarantineHoweverLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		began := time.Now()
		r.fake.Fail(coordtest.Acquire, &coord.QuarantinedError{Until: began.Add(4 * ttl)}, coordtest.Forever)
		time.AfterFunc(4*ttl, r.fake.Heal)
		if err := r.Start(t.Context()); err != nil {
			t.Errorf("Start: %v", err)
		}
		if took := time.Since(began); took < 4*ttl || took > 4*ttl+2*time.Second {
			t.Errorf("Start took %v, want %v and a moment", took, 4*ttl)
		}
	})
}

func TestStartEndsWithItsContext(t *testing.T) {
	outages := map[string]func(*coordtest.Fake, bool){"dead link": (*coordtest.Fake).Outage, "refused": (*coordtest.Fake).Refuse}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 1)
				outage(r.fake, true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := r.Start(ctx)
				if took := time.Since(began); took != time.Second {
					t.Errorf("Start took %v, its context 1s", took)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Start: %v, want the context's error", err)
				}
			})
		})
	}
}

func TestStartWithAnEndedContextLeasesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Start(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Start: %v", err)
		}
		if h := r.fake.Holders(); len(h) != 0 || r.gate.published() != 0 {
			t.Errorf("worker IDs %v are held, %d terms published", h, r.gate.published())
		}
	})
}

func TestStartGoesOnWhenTheBackEndComesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.fake.Refuse(true)
		time.AfterFunc(7*time.Second, func() { r.fake.Refuse(false) })
		began := time.Now()
		r.start()
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("Start took %v, the back end was down for 7s", took)
		}
	})
}

func TestStartOfAStoppedKeeperLeasesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		if err := r.close(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if err := r.Start(t.Context()); err == nil || err.Error() != "generator closed meanwhile" {
			t.Errorf("Start: %v", err)
		}
		if n := r.fake.Count(coordtest.Acquire); n != 0 {
			t.Errorf("%d acquisitions", n)
		}
	})
}

func TestStartGivesUpWhenTheGeneratorIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.gate.close()
		if err := r.Start(t.Context()); err == nil || err.Error() != "generator closed meanwhile" {
			t.Errorf("Start: %v", err)
		}
		if n := r.fake.Count(coordtest.Acquire); n != 1 || len(r.fake.Holders()) != 0 || r.gate.published() != 0 {
			t.Errorf("%d acquisitions, held are %v, %d terms published", n, r.fake.Holders(), r.gate.published())
		}
	})
}

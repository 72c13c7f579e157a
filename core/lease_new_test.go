package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// whyLate is what a window that is not open yet is explained by: the clock comes
// last, because it is right nearly always.
const whyLate = "until then an earlier holder's window lasts, or one that a new or emptied " +
	"namespace may have forgotten; service resumes by itself then; if that is long, check this " +
	"machine's clock"

// ahead makes a worker ID's window begin some time from now, as a predecessor does
// whose clock was ahead.
func ahead(t *testing.T, f *coordtest.Fake, l core.Layout, d time.Duration) (opens time.Time) {
	t.Helper()
	opens = time.Now().Add(d)
	g := f.Steal(0)
	if _, err := f.Client().Renew(t.Context(), g, opens.Sub(l.Epoch).Milliseconds()-1); err != nil {
		t.Fatal(err)
	}
	f.Expire(0)
	return opens
}

// journal returns an option that keeps the log's lines, and what reads them.
func journal() (keep func(*core.Config), lines func() string) {
	log := new(bytes.Buffer)
	return func(c *core.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }, func() string {
		synctest.Wait() // nobody writes
		return log.String()
	}
}

// A window that opens within the rollback tolerance is waited for as well: Ready and
// Next would not know what for. A wait that nobody notices gets no line in the log. It is the same
// for Start, which does not wait.
func TestNewReturnsOnceItsWindowIsOpen(t *testing.T) {
	type starter func(*testing.T, *coordtest.Fake, ...func(*core.Config)) *leased
	begun := func(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
		t.Helper()
		g := begin(t, f, edit...)
		if err := g.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		return g
	}
	for _, tt := range []struct {
		start starter
		wait  time.Duration
		told  int
	}{{lease, 50 * time.Millisecond, 0}, {lease, 20 * time.Second, 1}, {begun, 20 * time.Second, 1}} {
		wait, told := tt.wait, tt.told
		synctest.Test(t, func(t *testing.T) {
			keep, lines := journal()
			f, began := newFake(1), time.Now()
			opens := ahead(t, f, leaseConfig(nil).Layout, wait)
			g := tt.start(t, f, keep, func(cfg *core.Config) { cfg.RollbackTolerance = time.Minute })
			// A reading of the clock is cut to the microsecond.
			if delay := time.Since(opens); delay < 0 || delay > time.Microsecond {
				t.Errorf("it was ready %v after the window had opened", delay)
			}
			if p := g.cfg.Layout.Decompose(g.next()); !p.Time.Equal(opens) || p.Sequence != 0 {
				safetytest.Of(t).Errorf("the first ID is of %v, the window opened at %v", p, opens)
			}
			for _, want := range []string{
				fmt.Sprintf(`level=WARN msg="waiting for the issue window to open" worker_id=0 for=20s `+
					`opens=2000-01-01T00:00:20.000Z reason="core: issue window not open yet: worker ID 0 may `+
					`stamp from %s on, and it is %s; `+whyLate+`"`, at(opens), at(began)),
				`level=WARN msg="the issue window is open" after=20s`,
			} {
				if n := strings.Count(lines(), want); n != told {
					t.Errorf("the log has %d times\n%s\nin\n%s", n, want, lines())
				}
			}
			if n := f.Count(coordtest.Renew); n < 3*told {
				t.Errorf("%d renewals in %v of waiting", n, wait)
			}
		})
	}
}

// warned is a coordinator that has something to warn of.
type warned struct{ coord.Coordinator }

func (warned) Describe() coord.Description {
	return coord.Description{Warnings: []string{"first thing", "second thing"}}
}

func TestNewLogsEachWarningOfTheCoordinatorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep, lines := journal()
		leaseOf(t, warned{newFake(2).Client()}, nil, keep, func(cfg *core.Config) { cfg.Stripes = 2 })
		letSettled(time.Minute)
		for _, w := range []string{"first thing", "second thing"} {
			want := `level=WARN msg="the coordinator, as it is configured, does not protect against ` +
				`everything" warning="` + w + `"`
			if n := strings.Count(lines(), want); n != 1 {
				t.Errorf("the log has %d times\n%s\nin\n%s", n, want, lines())
			}
		}
	})
}

func TestNewWhoseContextEndsWhileItWaitsReleasesTheWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		opens := ahead(t, f, leaseConfig(nil).Layout, 20*time.Second)
		stored := f.Slot(0).NotAfter
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := core.New(ctx, f.Client(), unleased(t, f).cfg)
		wantText(t, err, fmt.Sprintf("core: starting a generator: context deadline exceeded\ncore: "+
			"issue window not open yet: worker ID 0 may stamp from %s on, and it is %s; "+whyLate,
			at(opens), at(time.Now())),
			core.ErrWindowNotOpen, context.DeadlineExceeded)
		if h, s := f.Holders(), f.Slot(0); len(h) != 0 || s.NotAfter != stored {
			safetytest.Of(t).Errorf("held are %v; stored is %d, it was %d", h, s.NotAfter, stored)
		}
	})
}

// The start timeout is a setting of its own: no lease time bounds it.
func TestNewGoesOnForItsStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.Refuse(true)
		g := unleased(t, f, func(cfg *core.Config) { cfg.StartTimeout = 3 * time.Minute })
		_, err := core.New(t.Context(), f.Client(), g.cfg)
		wantText(t, err, "core: starting a generator: no worker ID after 3m0s of trying: coordtest: "+
			"Acquire of the fake: coordtest: back end unreachable", coordtest.ErrUnreachable)
	})
}

func TestMoreStripesThanWorkerIDsLeavesNothingLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		g := unleased(t, f, func(cfg *core.Config) { cfg.Stripes = 3 })
		_, err := core.New(t.Context(), f.Client(), g.cfg)
		const want = "core: starting a generator: no worker ID for 1 of the 3 stripes, each of which " +
			"takes one: " +
			`no worker ID after 20s of trying: coord: no free worker ID in namespace "fake": 2 of 2 are ` +
			`held; the next`
		if !errors.Is(err, coord.ErrNoWorkerID) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New: %v, want %s...", err, want)
		}
		if h := f.Holders(); len(h) != 0 {
			safetytest.Of(t).Errorf("held are %v", h)
		}
	})
}

func TestStripesWithEnoughWorkerIDsShareThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(3), func(c *core.Config) { c.Stripes = 3 })
		if h := g.fake.Holders(); len(h) != 3 || len(g.Health().Workers) != 3 {
			t.Errorf("held are %v", h)
		}
		g.fake.Steal(0)
		letSettled(time.Second)
		for range 100 { // two of three go on
			g.next()
		}
		if h := g.Health(); !h.Healthy || h.Err != nil {
			t.Errorf("with two of three worker IDs: %+v", h)
		}
	})
}

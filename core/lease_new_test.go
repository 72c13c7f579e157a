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

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// whyLate is what a window that is not open yet is explained by: the clock comes
// last, because it is right nearly always.
const whyLate = "until then an earlier holder's window lasts, or one that a new or emptied namespace may have forgotten; service resumes by itself then; if that is long, check this machine's clock"

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

func TestNewWaitsForItsWindowAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log := newFake(1), new(bytes.Buffer)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		opens, began := ahead(t, f, cfg.Layout, 20*time.Second), time.Now()
		g, err := core.New(t.Context(), f.Client(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		// A reading of the clock is cut to the microsecond.
		if late := time.Since(opens); late < 0 || late > time.Microsecond {
			t.Errorf("New returned %v after the window had opened", late)
		}
		want := fmt.Sprintf(`level=WARN msg="waiting for the issue window to open" worker_id=0 for=20s opens=2000-01-01T00:00:20.000Z reason="core: issue window not open yet: worker ID 0 may stamp from %s on, and it is %s; `+whyLate+`"`, at(opens), at(began))
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("the log has %d times\n%s\nin\n%s", n, want, log)
		}
		if end := `level=WARN msg="the issue window is open" after=20s`; strings.Count(log.String(), end) != 1 {
			t.Errorf("the log does not tell the end of the wait:\n%s", log)
		}
		id, err := g.Next()
		if p := cfg.Layout.Decompose(id); err != nil || !p.Time.Equal(opens) || p.Sequence != 0 {
			t.Errorf("the first ID is of %v, %v, the window opened at %v", p, err, opens)
		}
		if n := f.Count(coordtest.Renew); n < 3 {
			t.Errorf("%d renewals in 20 s of waiting", n)
		}
	})
}

// A window that opens within the rollback tolerance is waited for as well: Ready and
// Next would not know what for. A wait that nobody notices gets no line in the log.
func TestNewReturnsOnceItsWindowIsOpen(t *testing.T) {
	for wait, lines := range map[time.Duration]int{50 * time.Millisecond: 0, 2400 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			f, log := newFake(1), new(bytes.Buffer)
			cfg := leaseConfig(clocktest.NewShifted(time.Now()))
			cfg.RollbackTolerance = 10 * time.Second
			cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			opens := ahead(t, f, cfg.Layout, wait)
			g, err := core.New(t.Context(), f.Client(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = g.Close(context.Background()) }()
			if late := time.Since(opens); late < 0 || late > time.Microsecond {
				t.Errorf("New returned %v after the window had opened", late)
			}
			if id, err := g.TryNext(); err != nil || !cfg.Layout.Decompose(id).Time.Equal(opens) {
				t.Errorf("TryNext: %d, %v", id, err)
			}
			if n := strings.Count(log.String(), "waiting for the issue window"); n != lines {
				t.Errorf("for a wait of %v the log has %d lines, want %d:\n%s", wait, n, lines, log)
			}
		})
	}
}

// A window that is lost before it opens delays no other: worker ID 0 opens in 25 s and
// is lost after one, and 1 is open.
func TestNewWaitsForNoWindowThatItHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		ahead(t, f, cfg.Layout, 25*time.Second)
		cfg.Lease.WorkerIDs.Count = 2
		other := f.Steal(1)
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			if err := f.Client().Release(t.Context(), other, other.NotBefore); err != nil {
				t.Error(err)
			}
			f.Steal(0)
		})
		g, err := core.New(t.Context(), f.Client(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		id, err := g.Next()
		if w := cfg.Layout.Decompose(id).WorkerID; err != nil || w != 1 {
			t.Errorf("Next: an ID of worker ID %d, %v", w, err)
		}
		if took := time.Since(began); took < time.Second || took > 8*time.Second {
			t.Errorf("New took %v; the renewal that shows the loss is due within 7", took)
		}
	})
}

// warned is a coordinator that has something to warn of.
type warned struct{ coord.Coordinator }

func (warned) Describe() coord.Description {
	return coord.Description{Warnings: []string{"first thing", "second thing"}}
}

func TestNewLogsEachWarningOfTheCoordinatorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log := newFake(2), new(bytes.Buffer)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Stripes = 2
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		g, err := core.New(t.Context(), warned{f.Client()}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		settle(time.Minute)
		for _, w := range []string{"first thing", "second thing"} {
			want := `level=WARN msg="the coordinator, as it is configured, does not protect against everything" warning="` + w + `"`
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("the log has %d times\n%s\nin\n%s", n, want, log)
			}
		}
	})
}

func TestNewWhoseContextEndsWhileItWaitsReleasesTheWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		opens := ahead(t, f, cfg.Layout, 20*time.Second)
		stored := f.Slot(0).NotAfter
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		g, err := core.New(ctx, f.Client(), cfg)
		if g != nil || !errors.Is(err, core.ErrWindowNotOpen) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("New: %v, %v", g, err)
		}
		wantText(t, err, fmt.Sprintf("core: starting a generator: context deadline exceeded\ncore: issue window not open yet: worker ID 0 may stamp from %s on, and it is %s; "+whyLate, at(opens), at(time.Now())))
		if h, s := f.Holders(), f.Slot(0); len(h) != 0 || s.NotAfter != stored {
			t.Errorf("held are %v; stored is %d, it was %d", h, s.NotAfter, stored)
		}
	})
}

func TestNewWithAnotherLayoutPrintsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(2))
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Layout.SequenceBits = 11
		_, err := core.New(t.Context(), g.fake.Client(), cfg)
		if !errors.Is(err, coord.ErrLayoutMismatch) {
			t.Errorf("New: %v", err)
		}
		wantText(t, err, fmt.Sprintf("core: starting a generator: coord: layout mismatch: namespace %q has layout %v, this generator has %v; use the stored layout or another namespace", "fake", g.layout, cfg.Layout))
		if h := g.fake.Holders(); len(h) != 1 {
			t.Errorf("held are %v", h)
		}
	})
}

func TestNewOfAnUnreachableBackEndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.Refuse(true)
		_, err := core.New(t.Context(), f.Client(), leaseConfig(clocktest.NewShifted(time.Now())))
		wantText(t, err, "core: starting a generator: no worker ID after 20s of trying: coordtest: Acquire of the fake: coordtest: back end unreachable")
	})
}

func TestMoreStripesThanWorkerIDsLeavesNothingLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		cfg := leaseConfig(clocktest.NewShifted(time.Now()))
		cfg.Stripes = 3
		g, err := core.New(t.Context(), f.Client(), cfg)
		if g != nil || !errors.Is(err, coord.ErrNoWorkerID) {
			t.Errorf("New: %v, %v", g, err)
		}
		const want = `core: starting a generator: no worker ID for 1 of the 3 stripes, each of which takes one: no worker ID after 20s of trying: coord: no free worker ID in namespace "fake": 2 of 2 are held; the next is free at `
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New: %v, want %s...", err, want)
		}
		if h := f.Holders(); len(h) != 0 {
			t.Errorf("held are %v", h)
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
		settle(time.Second)
		for range 100 { // two of three go on
			g.next()
		}
		h := g.Health()
		if !h.Healthy || h.Err != nil {
			t.Errorf("with two of three worker IDs: %+v", h)
		}
	})
}

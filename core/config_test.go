package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestBadConfig gives New and Start everything that they must refuse.
func TestBadConfig(t *testing.T) {
	with := func(f func(*core.Layout)) core.Config {
		l := core.DefaultLayout()
		f(&l)
		return core.Config{Layout: l}
	}
	lease := func(l coord.LeaseConfig) core.Config { return core.Config{Lease: l} }
	long := strings.Repeat("a", 126)
	for name, tt := range map[string]struct {
		cfg  core.Config
		want string
	}{
		"64 bits": {
			with(func(l *core.Layout) { l.TimeBits = 42 }),
			"Layout: core: invalid layout: TimeBits 42, WorkerBits 10 and SequenceBits 12 are 64 bits " +
				"together",
		},
		"epoch in the future": {
			with(func(l *core.Layout) { l.Epoch = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) }),
			"Layout: core: invalid layout: Epoch is 2031-01-01T00:00:00Z, but the clock says",
		},
		"negative lead": {
			core.Config{Lead: -1},
			"Lead is -1ns; it must be 0 or at least the layout's unit, 1ms",
		},
		"lead below the unit": {
			core.Config{Lead: 999_999},
			"Lead is 999.999µs; it must be 0 or at least",
		},
		"huge lead": {
			core.Config{Lead: time.Hour}, "Lead is 1h0m0s and RollbackTolerance 0s; at most 1m0s is allowed",
		},
		"lead that the window cannot hold": {
			core.Config{Lead: 10*time.Second + 1},
			"Lead is 10.000000001s; at most a third of the lease's Horizon, which is 30s, is allowed",
		},
		"ticks longer than the horizon may be": {
			with(func(l *core.Layout) { l.Unit = 9 * time.Hour }),
			"Horizon is 30s, which makes 3 ticks of 9h0m0s; at most 24h0m0s is allowed here",
		},
		"identity too long for stripes": {
			core.Config{Stripes: 11, Lease: coord.LeaseConfig{Identity: long}},
			"Lease.Identity is 129 bytes long with the number of a stripe; at most 128 are allowed",
		},
		"huge tolerance": {
			core.Config{RollbackTolerance: time.Hour}, "RollbackTolerance 1h0m0s; at most 1m0s is allowed",
		},
		"negative sequence start": {
			core.Config{SpreadBelow: -1}, "SpreadBelow is -1; 0 to 4096 are allowed with 12 sequence " +
				"bits",
		},
		"sequence start past the sequence": {
			core.Config{SpreadBelow: 4097},
			"SpreadBelow is 4097; 0 to 4096",
		},
		"negative stripes": {
			core.Config{Stripes: -1},
			"Stripes is -1; 1 to 1024 are allowed, 0 means 1",
		},
		"too many stripes": {
			core.Config{Stripes: 1025},
			"Stripes is 1025; 1 to 1024 are allowed",
		},
		"more stripes than worker IDs": {
			core.Config{Stripes: 3, Lease: coord.LeaseConfig{WorkerIDs: coord.Range{First: 5, Count: 2}}},
			"Stripes is 3; there are 2 worker IDs to lease (5-6)",
		},
		"negative TTL": {lease(coord.LeaseConfig{TTL: -1}), "Lease: unalike: invalid: TTL is -1ns"},
		"no such worker ID": {
			lease(coord.LeaseConfig{WorkerIDs: coord.Range{First: 1024}}),
			"Lease: unalike: invalid: WorkerIDs.First is 1024; the layout has worker IDs 0 to 1023",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(0)
			g, err := core.New(t.Context(), f.Client(), tt.cfg)
			if g != nil ||
				!errors.Is(err, core.ErrInvalidConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v\nwant: ...%s...", err, tt.want)
			}
			if n := f.Count(coordtest.Acquire); n != 0 {
				t.Errorf("the coordinator was asked %d times", n)
			}
			if g, again := core.Start(f.Client(), tt.cfg); g != nil ||
				!errors.Is(again, core.ErrInvalidConfig) {
				t.Errorf("Start: %v", again)
			}
		})
	}
}

// TestNewWithoutACoordinator passes nil, and the nil of a driver's New that has failed.
func TestNewWithoutACoordinator(t *testing.T) {
	const advice = "; make one with coord.Open or a driver's New, and check the error that comes " +
		"with it"
	var failed *coordtest.FakeClient
	for what, c := range map[string]coord.Coordinator{
		"nil":                         nil,
		"a nil *coordtest.FakeClient": failed,
	} {
		_, err := core.New(t.Context(), c, core.Config{})
		wantText(t, err, "core: invalid configuration: the coordinator is "+what+advice,
			core.ErrInvalidConfig)
	}
}

// TestMoreStripesThanTheCoordinatorHas is refused before the first worker ID is leased.
func TestMoreStripesThanTheCoordinatorHas(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{Rules: coord.LeaseRules{Workers: 2}})
	_, err := core.New(t.Context(), f.Client(), core.Config{Stripes: 3})
	wantText(t, err, "core: invalid configuration: Stripes is 3, which takes as many worker IDs; "+
		"the coordinator is configured with 2: give it more, or lower Stripes", core.ErrInvalidConfig)
	if n := f.Count(coordtest.Acquire); n != 0 {
		t.Errorf("the coordinator was asked %d times", n)
	}
}

// TestStripesSpendEveryWorkerID takes all IDs of one tick, which are four of each worker ID.
func TestStripesSpendEveryWorkerID(t *testing.T) {
	c := clocktest.NewManual(coretest.Start())
	g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c, Stripes: 4})
	seen := map[core.ID]bool{}
	for {
		id, err := g.TryNext()
		if errors.Is(err, core.ErrSequenceExhausted) {
			break
		}
		if err != nil || seen[id] {
			safetytest.Unless(t, err).Fatalf("%d, %v after %d IDs", id, err, len(seen))
		}
		seen[id] = true
	}
	if n := g.Health().Issued; n != 16 || len(seen) != 16 {
		t.Errorf("%d IDs were taken, Issued is %d; want 16", len(seen), n)
	}
}

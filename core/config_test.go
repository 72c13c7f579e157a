package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// TestBadConfig gives New everything that it must refuse.
func TestBadConfig(t *testing.T) {
	layout := core.DefaultLayout()
	with := func(f func(*core.Layout)) core.Config {
		l := layout
		f(&l)
		return core.Config{Layout: l}
	}
	lease := func(l coord.LeaseConfig) core.Config { return core.Config{Lease: l} }
	tests := []struct {
		name string
		cfg  core.Config
		want string
	}{
		{"no time bits", with(func(l *core.Layout) { l.TimeBits = 0 }), "Layout: core: invalid layout: TimeBits is 0"},
		{"64 bits", with(func(l *core.Layout) { l.TimeBits = 42 }), "64 bits together; at most 63 are allowed"},
		{"epoch in the future", with(func(l *core.Layout) { l.Epoch = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) }), "Epoch is 2031-01-01T00:00:00Z, but the clock says"},
		{"epoch in seconds", with(func(l *core.Layout) { l.Epoch = time.UnixMilli(1704067200) }), "looks like seconds instead of milliseconds"},
		{"layout without an epoch", with(func(l *core.Layout) { l.Epoch = time.Time{} }), "Epoch is not set"},
		{"negative lead", core.Config{Lead: -1}, "Lead is -1ns; it must be 0 or at least the layout's unit, 1ms"},
		{"lead below the unit", core.Config{Lead: 999 * time.Microsecond}, "Lead is 999µs; it must be 0 or at least the layout's unit, 1ms"},
		{"huge lead", core.Config{Lead: time.Hour}, "Lead is 1h0m0s and RollbackTolerance 0s; at most 1m0s is allowed"},
		{"lead that the window cannot hold", core.Config{Lead: 10*time.Second + 1}, "Lead is 10.000000001s; at most a third of the lease's Horizon, which is 30s, is allowed"},
		{"ticks longer than the horizon may be", with(func(l *core.Layout) { l.Unit = 9 * time.Hour }), "Horizon is 30s, which makes 3 ticks of 9h0m0s; at most 24h0m0s is allowed here"},
		{"identity too long for stripes", core.Config{Stripes: 11, Lease: coord.LeaseConfig{Identity: strings.Repeat("a", 126)}}, "Lease.Identity is 129 bytes long with the number of a stripe; at most 128 are allowed"},
		{"huge tolerance", core.Config{RollbackTolerance: time.Hour}, "RollbackTolerance 1h0m0s; at most 1m0s is allowed"},
		{"negative sequence start", core.Config{SequenceStart: -1}, "SequenceStart is -1; 0 to 4096 are allowed with 12 sequence bits"},
		{"sequence start past the sequence", core.Config{SequenceStart: 4097}, "SequenceStart is 4097; 0 to 4096 are allowed"},
		{"negative stripes", core.Config{Stripes: -1}, "Stripes is -1; 1 to 1024 are allowed, 0 means 1"},
		{"too many stripes", core.Config{Stripes: 1025}, "Stripes is 1025; 1 to 1024 are allowed"},
		{"more stripes than worker IDs", core.Config{Stripes: 3, Lease: coord.LeaseConfig{WorkerIDs: coord.Range{First: 5, Count: 2}}}, "Stripes is 3; there are 2 worker IDs to lease (5-6)"},
		{"negative TTL", lease(coord.LeaseConfig{TTL: -1}), "Lease: coord: invalid: TTL is -1ns"},
		{"renewal slower than the TTL", lease(coord.LeaseConfig{TTL: time.Second, RenewEvery: time.Second}), "RenewEvery is 1s; it must be less than TTL, which is 1s"},
		{"horizon too short", lease(coord.LeaseConfig{Horizon: 5 * time.Second, RenewEvery: 4 * time.Second}), "RenewEvery is 4s; it must be at most half of Horizon, which is 5s"},
		{"horizon of days", lease(coord.LeaseConfig{Horizon: 25 * time.Hour}), "Horizon is 25h0m0s; at most 24h0m0s is allowed here"},
		{"negative first worker ID", lease(coord.LeaseConfig{WorkerIDs: coord.Range{First: -1}}), "WorkerIDs.First is -1; the layout has worker IDs 0 to 1023"},
		{"first worker ID past the layout", lease(coord.LeaseConfig{WorkerIDs: coord.Range{First: 1024}}), "WorkerIDs.First is 1024; the layout has worker IDs 0 to 1023"},
		{"too many worker IDs", lease(coord.LeaseConfig{WorkerIDs: coord.Range{First: 1000, Count: 25}}), "WorkerIDs.Count is 25; from 1000 on the layout has 24 worker IDs"},
		{"unprintable identity", lease(coord.LeaseConfig{Identity: "a\x00"}), "Identity"},
		{"identity too long", lease(coord.LeaseConfig{Identity: strings.Repeat("a", 129)}), "Identity is 129 bytes long; at most 128 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := coordtest.NewFake(coordtest.FakeConfig{})
			g, err := core.New(context.Background(), f.Client(), tt.cfg)
			if g != nil || !errors.Is(err, core.ErrInvalidConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v\nwant: ...%s...", err, tt.want)
			}
			if n := f.Count(coordtest.Acquire); n != 0 {
				t.Errorf("the coordinator was asked %d times", n)
			}
		})
	}
}

// TestNewWithoutACoordinator passes nil, and the nil of a driver's New that has failed.
func TestNewWithoutACoordinator(t *testing.T) {
	const advice = "; make one with coord.Open or a driver's New, and check the error that comes with it"
	var failed *coordtest.FakeClient
	for want, c := range map[string]coord.Coordinator{
		"the coordinator is nil" + advice:                         nil,
		"the coordinator is a nil *coordtest.FakeClient" + advice: failed,
	} {
		g, err := core.New(context.Background(), c, core.Config{})
		if g != nil || !errors.Is(err, core.ErrInvalidConfig) || err.Error() != "core: invalid configuration: "+want {
			t.Errorf("New: %v\nwant: ...%s", err, want)
		}
	}
}

// TestMoreStripesThanTheCoordinatorHas is refused before the first worker ID is leased.
func TestMoreStripesThanTheCoordinatorHas(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{Rules: coord.LeaseRules{Workers: 2}})
	_, err := core.New(context.Background(), f.Client(), core.Config{Stripes: 3})
	const want = "core: invalid configuration: Stripes is 3, which takes as many worker IDs; the coordinator is configured with 2: give it more, or lower Stripes"
	if !errors.Is(err, core.ErrInvalidConfig) || err.Error() != want || f.Count(coordtest.Acquire) != 0 {
		t.Errorf("New: %v after %d calls\nwant: %s", err, f.Count(coordtest.Acquire), want)
	}
}

// TestClockPastTheLayout stands at and behind the end of the time bits.
func TestClockPastTheLayout(t *testing.T) {
	l := narrow()
	l.TimeBits = 20
	c := clocktest.NewManual(l.Expires().Add(-time.Millisecond))
	g := coretest.NewWith(t, core.Config{Layout: l, Clock: c})
	n := 0
	for ; n < 4; n++ {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if id, err := g.Next(); id != 0 || !errors.Is(err, core.ErrTimeExhausted) {
			t.Errorf("Next after the last ID of the layout: %d, %v", id, err)
		}
		c.Advance(time.Millisecond)
	}
	if err := g.Ready(context.Background()); !errors.Is(err, core.ErrTimeExhausted) {
		t.Errorf("Ready: %v", err)
	}
	if h := g.Health(); h.Healthy || h.Issued != 4 || h.Errors.TimeExhausted != 3 {
		t.Errorf("Health: %+v", h)
	}
	if _, err := core.New(context.Background(), coordtest.NewFake(coordtest.FakeConfig{}).Client(), core.Config{Layout: l, Clock: c}); !errors.Is(err, core.ErrTimeExhausted) {
		t.Errorf("New past the end: %v", err)
	}
}

// TestAfterClose calls everything on a closed generator.
func TestAfterClose(t *testing.T) {
	g := coretest.NewWith(t, core.Config{Clock: clock.System()})
	if _, err := g.Next(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for range 2 {
		if err := g.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for name, f := range map[string]func() error{
		"Next":        func() error { _, err := g.Next(); return err },
		"TryNext":     func() error { _, err := g.TryNext(); return err },
		"NextContext": func() error { _, err := g.NextContext(ctx); return err },
		"Fill":        func() error { _, err := g.Fill(ctx, make([]core.ID, 3)); return err },
		"Ready":       func() error { return g.Ready(ctx) },
	} {
		if err := f(); !errors.Is(err, core.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if h := g.Health(); h.Healthy || !errors.Is(h.Err, core.ErrClosed) || h.Issued != 1 || h.Errors.Closed != 4 {
		t.Errorf("Health after Close: %+v", h)
	}
}

// TestStripesSpendEveryWorkerID takes as many IDs as one tick of four worker IDs has.
func TestStripesSpendEveryWorkerID(t *testing.T) {
	const stripes = 4
	c := clocktest.NewManual(coretest.Start())
	g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c, Stripes: stripes})
	seen := map[int]int{}
	for range stripes * 4 {
		id, err := g.TryNext()
		if err != nil {
			t.Fatal(err)
		}
		seen[narrow().Decompose(id).WorkerID]++
	}
	if id, err := g.TryNext(); !errors.Is(err, core.ErrSequenceExhausted) {
		t.Errorf("all stripes are spent: %d, %v", id, err)
	}
	for w := coretest.WorkerID; w < coretest.WorkerID+stripes; w++ {
		if seen[w] != 4 {
			t.Errorf("IDs by worker ID: %v, want 4 of each", seen)
			break
		}
	}
	if n := g.Health().Issued; n != stripes*4 {
		t.Errorf("Issued is %d, want %d", n, stripes*4)
	}
}

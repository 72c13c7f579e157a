// Package coretest makes generators for the tests of programs that use package
// core: the same IDs in every run, no coordinator, no waiting.
//
//	func TestOrder(t *testing.T) {
//		orders := NewOrders(coretest.New(t))
//		// The first order gets coretest.First, the next one that plus 1, ...
//	}
//
// For a test of what a program does when IDs are refused, give [NewWith] a clock
// of package clocktest and step it back.
package coretest

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// WorkerID is the worker ID of the generators that this package makes; with
// several stripes, of the first one.
const WorkerID = 1

// First is the first ID that a generator of [New] issues; the second one is
// First + 1.
const First core.ID = 132815152742404096

// Start returns where the clock of [New] stands: 2025-01-01T12:00:00Z.
func Start() time.Time { return time.Date(2025, time.January, 1, 12, 0, 0, 0, time.UTC) }

// New returns a generator with the default layout, worker ID 1, and a clock that
// stands at [Start]. When the sequence of a tick is spent, the clock moves on to
// the next tick by itself, so Next never waits. The generator is closed at the end
// of the test. New fails the test rather than return an error.
func New(tb testing.TB) *core.Generator {
	tb.Helper()
	return NewWith(tb, core.Config{})
}

// NewWith is [New] with a configuration. A nil Clock in it means the clock of New,
// the zero Layout the default layout; Lease is not looked at except for WorkerIDs.
// With WorkerIDs left empty, there is [WorkerID], and for further stripes what
// follows it. There are no more, so a clock that is stepped back by more than the
// tolerance stays a rollback until it has caught up; give WorkerIDs a greater Count
// to have it healed.
func NewWith(tb testing.TB, cfg core.Config) *core.Generator {
	tb.Helper()
	if cfg.Layout == (core.Layout{}) {
		cfg.Layout = core.DefaultLayout()
	}
	if cfg.Clock == nil {
		cfg.Clock = &obliging{Manual: clocktest.NewManual(Start()), ahead: 2 * cfg.Layout.Unit}
	}
	if cfg.Lease.WorkerIDs == (coord.Range{}) {
		cfg.Lease.WorkerIDs.Count = max(cfg.Stripes, 1)
		if cfg.Layout.WorkerBits > 0 {
			cfg.Lease.WorkerIDs.First = WorkerID
		}
	}
	g, err := core.New(context.Background(), new(forever), cfg)
	if err != nil {
		tb.Fatalf("coretest: %v", err)
	}
	tb.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			tb.Errorf("coretest: %v", err)
		}
	})
	return g
}

// obliging is a clock that moves on when somebody waits for the next tick.
type obliging struct {
	*clocktest.Manual
	ahead time.Duration
}

var _ clock.Alarmer = (*obliging)(nil)

// Alarm implements [clock.Alarmer]. Waits that reach further than a tick are for
// the end of a window, which is not to come.
func (o *obliging) Alarm(unixMicro int64) (ring <-chan struct{}, stop func()) {
	if left := unixMicro - o.UnixMicro(); left > 0 && left <= o.ahead.Microseconds() {
		o.Set(time.UnixMicro(unixMicro))
	}
	return o.Manual.Alarm(unixMicro)
}

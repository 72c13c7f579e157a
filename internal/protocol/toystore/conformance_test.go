package toystore

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// newCoordinator returns a coordinator over a store that is closed with the test.
func newCoordinator(tb testing.TB, s protocol.Store) *protocol.Coordinator {
	tb.Helper()
	common, err := lifetime.Settings{}.Resolve(2*time.Minute, time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.New(s, protocol.Settings{
		Driver: "toy", Title: "the toy store", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: common.SkewBound, Clock: common.Clock, Logger: common.Logger, ServerClock: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// expire ends the lease of a worker ID.
func (s *Store) expire(worker int) {
	defer s.lock()()
	s.own(worker, nil)
}

// harness connects the suite with a store.
func harness(s *Store) coordtest.Harness {
	participant := func(s *Store) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return newCoordinator(tb, s)
		}
	}
	return coordtest.Harness{
		Client:         participant(s),
		OtherNamespace: participant(New(clock.System())),
		Expire:         func(_ testing.TB, g coord.Grant) { s.expire(g.WorkerID) },
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, newCoordinator(tb, s), tick)
		},
		Sticky: true,
	}
}

// TestConformance holds the coordinator over the store to the rules of package coord.
func TestConformance(t *testing.T) {
	coordtest.Run(t, func(testing.TB) coordtest.Harness { return harness(New(clock.System())) })
}

// TestAdmin holds it to those for operators.
func TestAdmin(t *testing.T) {
	coordtest.RunAdmin(t, func(testing.TB) coordtest.Harness { return harness(New(clock.System())) })
}

package drivertest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// CallTime is for one call on a machine that is busy with other things.
const CallTime = streamtest.CallTime

// Capacity is how many worker IDs the default layout has.
const Capacity = 1024

// Space returns what a namespace of the default layout is declared with.
func Space() coord.Space { return core.DefaultLayout().Space() }

// Scale returns the unit of ticks of the default layout.
func Scale() clock.Scale { return Space().Scale }

// TickNow returns the tick of this machine's clock.
func TickNow() int64 { return Scale().Tick(time.Now().UnixMicro()) }

// Request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s.
func Request(n int) coord.Request {
	now, space := TickNow(), Space()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: space.Fingerprint, Scale: space.Scale,
		LastTick: space.LastTick, Workers: coord.Range{Count: n}, Capacity: space.Capacity,
		TTL: 15 * time.Second, Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
	}
}

// At is a request for any worker ID by somebody whose clock is off by d.
func At(d time.Duration) coord.Request {
	req := Request(Capacity)
	req.Now += d.Milliseconds()
	req.Until += d.Milliseconds()
	req.OpenBy += d.Milliseconds()
	return req
}

// Within returns a context for one call.
func Within(tb testing.TB) context.Context {
	tb.Helper()
	return streamtest.Within(tb)
}

// HurriedTime is the deadline of calls that are not answered, or once. It is long enough for a
// request to get through on a slow machine.
const HurriedTime = 9 * time.Second

// Hurried returns a context for such a call.
func Hurried(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), HurriedTime)
	tb.Cleanup(cancel)
	return ctx
}

// MustAcquire acquires; the call must succeed.
func MustAcquire(tb testing.TB, c coord.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(Within(tb), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// RaiseFloor raises the floor of a namespace to a tick, and makes the namespace if need be.
func RaiseFloor(tb testing.TB, c coord.AdminCoordinator, tick int64) {
	tb.Helper()
	if err := c.Init(Within(tb), Space()); err != nil && !errors.Is(err, coord.ErrInvalid) {
		// it is in use
		tb.Fatal(err)
	}
	if _, err := c.Quarantine(Within(tb), time.UnixMicro(Scale().Micro(tick))); err != nil {
		tb.Fatal(err)
	}
}

// Closing returns a coordinator that was made without an error and is closed with the
// test.
func Closing[C io.Closer](tb testing.TB, c C, err error) C {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return c
}

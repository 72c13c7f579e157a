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
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// CallTime is for one call on a machine that is busy with other things.
const CallTime = streamtest.CallTime

// The default layout.
const (
	Layout   = "41/10/12/1ms/2024-01-01T00:00:00Z"
	Capacity = 1024
	LastTick = 1<<41 - 1
)

// Scale returns the unit of ticks of the default layout.
func Scale() clock.Scale {
	return clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
}

// Space returns what a namespace of the default layout is declared with.
func Space() coord.Space {
	return coord.Space{Fingerprint: Layout, Scale: Scale(), LastTick: LastTick, Capacity: Capacity}
}

// TickNow returns the tick of this machine's clock.
func TickNow() int64 { return Scale().Tick(time.Now().UnixMicro()) }

// Request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s.
func Request(n int) coord.Request {
	now := TickNow()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: Layout, Scale: Scale(), LastTick: LastTick,
		Workers: coord.Range{Count: n}, Capacity: Capacity, TTL: 15 * time.Second,
		Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
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
func RaiseFloor(tb testing.TB, c coord.Admin, tick int64) {
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

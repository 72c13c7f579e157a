// Package streamtest runs generators under faults: it takes IDs all the time, checks
// that each lies above the one before, and tells what became of them.
package streamtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// CallTime is for one call on a machine that is busy with other things.
const CallTime = 30 * time.Second

// Within returns a context for one call.
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), CallTime)
	tb.Cleanup(cancel)
	return ctx
}

// Generate starts a generator that is closed with the test.
func Generate(tb testing.TB, c coord.Coordinator, cfg core.Config) *core.Generator {
	tb.Helper()
	ctx := Within(tb)
	g, err := core.New(ctx, c, cfg)
	// A start tries for as long as the TTL, which is short for a machine that is slow.
	for err != nil && !coord.Permanent(err) && ctx.Err() == nil {
		g, err = core.New(ctx, c, cfg)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), CallTime)
		defer cancel()
		if err := g.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			tb.Logf("closing the generator: %v", err)
		}
	})
	return g
}

// Stream takes IDs until Stop is called or one cannot be had. Its figures may be read
// after Stop, or once Failed is true.
type Stream struct {
	N    int          // how many IDs there were
	Last core.ID      // the last one
	Err  error        // why there are no more
	came atomic.Int64 // N as it grows
	quit chan struct{}
	done chan struct{}
}

// Run takes IDs at a pace that leaves the machine to others. Every ID must lie above
// the one before.
func Run(g *core.Generator) *Stream {
	s := &Stream{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-pace.C:
			}
			id, err := g.Next()
			if err == nil && id <= s.Last {
				err = errors.New("an ID is not above the one before")
			}
			if err != nil {
				s.Err = err
				return
			}
			s.Last, s.N = id, s.N+1
			s.came.Add(1)
		}
	}()
	return s
}

// Stop ends the stream once it has given at least so many IDs: with fewer, a test proves
// nothing. None may have failed.
func (s *Stream) Stop(tb testing.TB, atLeast int) {
	tb.Helper()
	Eventually(tb, "there are enough IDs", func() bool {
		return s.Failed() || s.came.Load() >= int64(atLeast)
	})
	close(s.quit)
	<-s.done
	if s.Err != nil {
		tb.Errorf("after %d IDs: %v", s.N, s.Err)
	}
}

// Failed tells whether the stream has ended with an error.
func (s *Stream) Failed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Worker returns the health of the generator's only worker ID.
func Worker(tb testing.TB, g *core.Generator) core.WorkerHealth {
	tb.Helper()
	h := g.Health()
	if len(h.Workers) != 1 {
		tb.Fatalf("%d worker IDs are leased; want 1", len(h.Workers))
	}
	return h.Workers[0]
}

// RenewedSince waits until the generator's window was extended after a moment.
func RenewedSince(tb testing.TB, g *core.Generator, moment time.Time) {
	tb.Helper()
	Eventually(tb, "the window is extended", func() bool {
		return Worker(tb, g).LastRenewal.After(moment)
	})
}

// SameTerm checks that a generator has kept its worker ID and generation.
func SameTerm(tb testing.TB, g *core.Generator, before core.WorkerHealth) {
	tb.Helper()
	if after := Worker(tb, g); after.WorkerID != before.WorkerID ||
		after.Generation != before.Generation {
		tb.Errorf("worker ID %d, generation %d became worker ID %d, generation %d", before.WorkerID,
			before.Generation, after.WorkerID, after.Generation)
	}
}

// Eventually waits until something is so.
func Eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	proctest.Eventually(tb, CallTime, what, so)
}

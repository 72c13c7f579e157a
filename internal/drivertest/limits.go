package drivertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Most returns how many of up to limit things a test has: 1,024 in a short test, 8,192 in a long
// one, and all of them in a full one.
func Most(limit int) int {
	if testing.Short() {
		return min(limit, Capacity)
	}
	return min(limit, fulltest.Rounds(8<<10, limit))
}

// Limits tests a driver in a namespace with the longest names and windows and the most holders.
type Limits struct {
	Workers int // the number of worker IDs
	// Open returns a coordinator of another process in the namespace. It is closed with tb.
	Open func(tb testing.TB) Operator
	// Occupy stores leases of other holders for the worker IDs 1 to Workers-1. Like turns the stored
	// text of worker ID 0 into that of another worker ID.
	Occupy func(tb testing.TB, like func(stored string, worker int) string)
	// Clock reads the clock of the back end. Nil: it is the system's.
	Clock func() time.Time
}

// LongName returns a name of the maximum length, with characters that many systems escape.
func LongName() string { return strings.Repeat("ü%~", coord.MaxName/4) }

// Run checks the calls at the limits. With every worker ID in use, an acquisition fails with a
// complete error, a list has them all, the holder renews, and a released worker ID is granted
// again.
func (l Limits) Run(tb testing.TB) {
	tb.Helper()
	layout := core.DefaultLayout()
	layout.WorkerBits = uint8(bits.Len(uint(l.Workers - 1)))
	layout.SequenceBits = 22 - layout.WorkerBits
	space, c := layout.Space(), l.Open(tb)
	rules := coord.Describe(c).Rules
	horizon := rules.MaxHorizon
	if rules.MaxDeclared > 0 {
		horizon = rules.MaxDeclared
		space.MaxHorizon = horizon
	}
	if err := c.Init(l.within(tb), space); err != nil {
		tb.Fatal(err)
	}
	request := func() coord.Request {
		now := time.Now()
		if l.Clock != nil {
			now = l.Clock()
		}
		req := Request(l.Workers)
		req.Fingerprint, req.LastTick, req.Capacity = space.Fingerprint, space.LastTick, space.Capacity
		req.Now = space.Scale.Tick(now.UnixMicro())
		req.OpenBy, req.Until = req.Now, req.Now+horizon.Milliseconds()
		req.Surviving = rules.MaxDeclared > 0
		req.Token, req.Holder = req.Token+LongName()[:100], strings.Repeat("h", 253)
		req.Identity, req.TTL = LongName(), CrowdTTL
		return req
	}
	first := request()
	like := func(stored string, worker int) string {
		return strings.NewReplacer(`"worker":0,`, fmt.Sprintf(`"worker":%d,`, worker),
			first.Token, fmt.Sprintf("%026d", worker)+first.Token[26:],
			first.Identity, fmt.Sprintf("%08d", worker)+first.Identity[8:]).Replace(stored)
	}
	first.Workers.Count = 1
	g := MustAcquire(tb, c, first)
	if g.NotAfter-g.NotBefore < horizon.Milliseconds() {
		tb.Errorf("%v was granted; want a window of %v", g, horizon)
	}
	l.timed(tb, "holding the others", func() { l.Occupy(tb, like) })
	l.timed(tb, "an acquisition with none free", func() {
		got, err := c.Acquire(Within(tb), request())
		full, ok := errors.AsType[*coord.NoWorkerIDError](err)
		if !ok || full.InUse != l.Workers || full.Capacity != l.Workers || full.Soonest.IsZero() {
			tb.Errorf("with all held: %v, %v; want an error that says so, and when one ends", got, err)
		}
	})
	l.timed(tb, "a list", func() {
		list, err := l.Open(tb).List(l.within(tb)) // without a cache
		if err != nil || len(list) != l.Workers {
			tb.Errorf("%d are listed, %v; want %d", len(list), err, l.Workers)
		}
		for _, s := range list {
			if s.State != coord.SlotHeld || s.Identity == "" {
				tb.Fatalf("worker ID %d is listed as %+v", s.WorkerID, s)
			}
		}
	})
	l.timed(tb, "a renewal", func() {
		got, err := c.Renew(Within(tb), g, g.NotAfter)
		if err != nil {
			tb.Errorf("the renewal: %v, %v", got, err)
		}
	})
	l.timed(tb, "a release", func() {
		if err := c.Release(Within(tb), g, g.NotBefore+1); err != nil {
			tb.Error(err)
		}
	})
	l.timed(tb, "an acquisition with one free", func() {
		if got := MustAcquire(tb, l.Open(tb), request()); got.WorkerID != 0 || got.Generation != 2 {
			tb.Errorf("%v was granted; want worker ID 0 once more", got)
		}
	})
}

// timed logs how long f takes.
func (l Limits) timed(tb testing.TB, what string, f func()) {
	tb.Helper()
	began := time.Now()
	f()
	tb.Logf("%d worker IDs: %s took %v", l.Workers, what, time.Since(began))
}

// InParts calls do with parts of a list, 8 of them at a time.
func InParts[T any](tb testing.TB, all []T, size int, do func([]T) error) {
	tb.Helper()
	places := make(chan struct{}, 8)
	var parts sync.WaitGroup
	for part := range slices.Chunk(all, size) {
		parts.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := do(part); err != nil {
				tb.Error(err)
			}
		})
	}
	parts.Wait()
}

// within returns a context for a call that reads every worker ID.
func (Limits) within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), CrowdTTL)
	tb.Cleanup(cancel)
	return ctx
}

// MostStripes is how many stripes a generator has at most.
const MostStripes = 1024

// Stripes starts a generator with as many stripes as there can be, and waits until each has renewed
// its worker ID twice. A nil source is the system's.
func Stripes(tb testing.TB, c Operator, source clock.Clock) {
	tb.Helper()
	fulltest.Heavy(tb, "each of many worker IDs is renewed twice")
	n := fulltest.Rounds(128, MostStripes)
	ctx, cancel := context.WithTimeout(tb.Context(), CrowdTTL)
	defer cancel()
	err := c.Init(ctx, core.DefaultLayout().Space())
	if err != nil && !errors.Is(err, coord.ErrInvalid) { // static without a file has no Init
		tb.Fatal(err)
	}
	began := time.Now()
	g, err := core.New(ctx, c, core.Config{
		Stripes: n, Clock: source, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("%d stripes started within %v", n, time.Since(began))
	for round := range 2 {
		last := lastRenewals(g)
		proctest.Eventually(tb, CrowdTTL, "each worker ID is renewed", func() bool {
			if _, err := g.Next(); err != nil {
				tb.Fatal(err)
			}
			workers := g.Health().Workers
			return len(workers) == n && !slices.ContainsFunc(workers, func(w core.WorkerHealth) bool {
				return w.Err != nil || !w.LastRenewal.After(last[w.WorkerID])
			})
		})
		tb.Logf("%d renewals of each after %v", round+1, time.Since(began))
	}
	if err := g.Close(ctx); err != nil {
		tb.Error(err)
	}
}

// lastRenewals returns when each worker ID was renewed last, by the clock of the generator.
func lastRenewals(g *core.Generator) map[int]time.Time {
	last := map[int]time.Time{}
	for _, w := range g.Health().Workers {
		last[w.WorkerID] = w.LastRenewal
	}
	return last
}

package core_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// What a caller is told to do follows from what keeps the window from growing.
func TestEndOfTheWindowSaysWhatHasToHappen(t *testing.T) {
	const unreachable = "service resumes by itself once the coordinator answers; check that it is up and reachable"
	tests := map[string]struct {
		cause error
		want  string
	}{
		"unreachable":   {coordtest.ErrUnreachable, unreachable},
		"no answer":     {context.DeadlineExceeded, unreachable},
		"moved":         {fmt.Errorf("renew: %w", coord.ErrNamespaceClosed), "service does not resume in this namespace"},
		"closed":        {coord.ErrClosed, "service does not resume; close a generator before its coordinator"},
		"quarantined":   {&coord.QuarantinedError{}, "service resumes by itself when the quarantine is over"},
		"damaged":       {coord.ErrInvalid, "service resumes by itself once that is corrected"},
		"full disk":     {fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "s", Err: syscall.ENOSPC}), "service resumes by itself once that is corrected"},
		"full folder":   {&os.LinkError{Op: "rename", Old: "s.tmp", New: "s", Err: syscall.ENOSPC}, "service resumes by itself once that is corrected"},
		"another clock": {coord.ErrClockSkew, "service resumes by itself once that is corrected"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := lease(t, newFake(1))
				g.fake.Fail(coordtest.Renew, tt.cause, coordtest.Forever)
				settle(leaseHorizon + leaseEvery)
				_, err := g.Next()
				if !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, tt.cause) || !strings.HasSuffix(err.Error(), "; "+tt.want) {
					t.Errorf("Next: %v; want it to end with %q", err, tt.want)
				}
			})
		})
	}
}

func TestLossInAMovedNamespaceDoesNotPromiseService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Fail(coordtest.Acquire, coord.ErrNamespaceClosed, coordtest.Forever)
		g.fake.Steal(0)
		settle(time.Second)
		if _, err := g.Next(); !errors.Is(err, coord.ErrNamespaceClosed) || !strings.HasSuffix(err.Error(), "; service does not resume in this namespace") {
			t.Errorf("Next: %v", err)
		}
	})
}

// capped renews, but never past the time that its own clock allows.
type capped struct {
	coord.Coordinator
	last int64
}

func (c *capped) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return c.Coordinator.Renew(ctx, g, min(until, c.last))
}

func TestRenewalsThatDoNotReachTheClockAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.NewShifted(time.Now())
		cfg := leaseConfig(clock)
		c := &capped{Coordinator: newFake(1).Client(), last: time.Now().Add(time.Minute).Sub(cfg.Layout.Epoch).Milliseconds()}
		g, err := core.New(t.Context(), c, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		clock.Step(time.Hour)
		settle(20 * time.Second)
		_, err = g.Next()
		const want = ": the coordinator renews, but the window that it gives is over by this machine's clock: compare the two clocks; last renewed "
		if !errors.Is(err, core.ErrWindowEnded) || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "; service resumes by itself once that is corrected") {
			t.Errorf("Next: %v", err)
		}
		if since := clock.Time().Sub(g.Health().LastRenewal); since > leaseEvery {
			t.Errorf("the last renewal was %v ago", since)
		}
	})
}

// A coordinator that takes longer than the horizon answers, and that is not enough.
func TestRepliesThatComeTooLateAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1), func(cfg *core.Config) { cfg.Lease.Horizon = 3 * time.Second })
		g.fake.DelayReplies(coordtest.Renew, 4*time.Second, coordtest.Forever)
		settle(time.Minute)
		_, err := g.Next()
		if want := "; service resumes by itself once the coordinator answers sooner; a longer Horizon bridges more"; !errors.Is(err, core.ErrWindowEnded) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Next: %v; want it to end with %q", err, want)
		}
	})
}

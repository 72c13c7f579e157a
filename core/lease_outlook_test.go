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

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/keeper"
)

// What a caller is told to do follows from what keeps the window from growing.
func TestEndOfTheWindowSaysWhatHasToHappen(t *testing.T) {
	const (
		unreachable = "service resumes by itself once the coordinator answers; check that it is up " +
			"and reachable"
		corrected = "service resumes by itself once that is corrected"
	)
	for name, tt := range map[string]struct {
		cause error
		want  string
	}{
		"unreachable": {coordtest.ErrUnreachable, unreachable},
		"no answer":   {context.DeadlineExceeded, unreachable},
		"moved": {
			fmt.Errorf("renew: %w", coord.ErrNamespaceClosed),
			"service does not resume in this namespace",
		},
		"closed": {coord.ErrClosed, "service does not resume; close a generator before its coordinator"},
		"quarantined": {
			&coord.QuarantinedError{},
			"service resumes by itself when the quarantine is over",
		},
		"damaged": {coord.ErrInvalid, corrected},
		"full disk": {fmt.Errorf("write: %w", &fs.PathError{
			Op: "write", Path: "s",
			Err: syscall.ENOSPC,
		}), corrected},
		"full folder": {
			&os.LinkError{Op: "rename", Old: "s.tmp", New: "s", Err: syscall.ENOSPC},
			corrected,
		},
		"another clock": {coord.ErrClockSkew, corrected},
		"in the past":   {keeper.ErrBehind, corrected},
		"too late": {
			keeper.ErrLate, "service resumes by itself once the coordinator answers sooner; a longer " +
				"Horizon bridges more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := lease(t, newFake(1))
				g.fake.Fail(coordtest.Renew, tt.cause, coordtest.Forever)
				letSettled(leaseHorizon + leaseEvery)
				_ = g.ended(tt.want, tt.cause)
			})
		})
	}
}

// ended demands that Next is refused because the window has ended, that the error wraps causes,
// and that it ends with outlook.
func (g *leased) ended(outlook string, causes ...error) error {
	g.t.Helper()
	_, err := g.Next()
	for _, cause := range append(causes, core.ErrWindowEnded) {
		if !errors.Is(err, cause) || !strings.HasSuffix(err.Error(), "; "+outlook) {
			g.t.Errorf("Next: %v; want it to wrap %q, and to end with %q", err, cause, outlook)
		}
	}
	return err
}

func TestLossInAMovedNamespaceDoesNotPromiseService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Fail(coordtest.Acquire, coord.ErrNamespaceClosed, coordtest.Forever)
		g.fake.Steal(0)
		letSettled(time.Second)
		_ = g.ended("service does not resume in this namespace", coord.ErrNamespaceClosed)
	})
}

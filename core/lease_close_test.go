package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
)

func TestCloseEndsWaitsAtOnceEvenIfTheBackEndHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Outage(true)
		letSettled(leaseHorizon + 10*time.Millisecond)
		ended := make(chan time.Time, 2)
		for _, name := range []string{"NextContext", "Ready"} {
			go func() {
				if err := calls(t.Context(), g.Generator)[name](); !errors.Is(err, core.ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
				ended <- time.Now()
			}()
		}
		letSettled(10 * time.Millisecond)
		began := time.Now()
		_ = g.Close(t.Context()) // its error is the next test's
		for range 2 {
			if delay := (<-ended).Sub(began); delay > 10*time.Millisecond {
				t.Errorf("a wait ended %v after Close was called", delay)
			}
		}
	})
}

func TestCloseSaysThatAWorkerIDIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		g.fake.Refuse(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := g.Close(ctx)
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %v, its context 1s", took)
		}
		for _, err := range []error{err, g.Close(t.Context())} {
			// Which of two ends comes first decides whether the worker ID is named.
			const want = " not released, it becomes free when its lease ends: context deadline exceeded"
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "core: closing a generator: worker ID") {
				t.Errorf("Close: %v", err)
			}
		}
	})
}

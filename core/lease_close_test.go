package core_test

import (
	"errors"
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

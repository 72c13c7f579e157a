package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
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

// handedOver is a coordinator that a generator gets to close.
type handedOver struct {
	coord.Coordinator
	released, closed int
}

func (c *handedOver) Release(ctx context.Context, g coord.Grant, last int64) error {
	c.released++
	if c.closed > 0 {
		return coord.ErrClosed
	}
	return c.Coordinator.Release(ctx, g, last)
}

func (c *handedOver) Close() error {
	c.closed++
	return errors.Join(c.Coordinator.Close(), errHandedOver)
}

var errHandedOver = errors.New("handed over")

// TestCloser: what is handed over is closed once, after the worker IDs are released, or when there
// is no generator.
func TestCloser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &handedOver{Coordinator: newFake(1).Client()}
		g, err := core.New(t.Context(), c, core.Config{Closer: c})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := g.Close(t.Context())
			if !errors.Is(err, errHandedOver) || errors.Is(err, coord.ErrClosed) {
				t.Errorf("Close: %v", err)
			}
		}
		if c.released != 1 || c.closed != 1 {
			t.Errorf("released %d times and closed %d times", c.released, c.closed)
		}
		for range 2 {
			_, err := core.New(t.Context(), c, core.Config{Closer: c, Stripes: -1})
			_, err2 := core.Start(c, core.Config{Closer: c, Stripes: -1})
			if !errors.Is(err, errHandedOver) || !errors.Is(err2, core.ErrInvalidConfig) {
				t.Errorf("New: %v; Start: %v", err, err2)
			}
		}
		var nobody context.Context
		if _, err := core.New(nobody, c, core.Config{Closer: c}); !errors.Is(err, errHandedOver) {
			t.Errorf("New without a context: %v", err)
		}
		if c.closed != 6 {
			t.Errorf("closed %d times; want 6", c.closed)
		}
	})
}

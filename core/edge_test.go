package core

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
)

// stepping is a clock that stands still, and steps back by an hour when it is read for
// the n-th time after n was set.
type stepping struct {
	*clocktest.Manual
	n int
}

func (s *stepping) UnixMicro() int64 {
	if s.n--; s.n == 0 {
		s.Advance(-time.Hour)
	}
	return s.Manual.UnixMicro()
}

// TestStepBackBetweenAttemptAndWait steps the clock back at each reading that a call
// takes which waits for the next tick: Next reports it at its next reading, and that
// comes within a tick.
func TestStepBackBetweenAttemptAndWait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		clock func(*stepping) clock.Clock
	}{
		{"with alarms", func(s *stepping) clock.Clock { return s }},
		{"without", func(s *stepping) clock.Clock { return struct{ clock.Clock }{s} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for n := 1; stepBackAt(t, n, tt.clock); n++ {
					if n == 10 {
						break // a clock without alarms is read again and again
					}
				}
			})
		})
	}
}

// stepBackAt lets the clock step back at the n-th reading of a call that waits, and
// reports whether there was such a reading.
func stepBackAt(t *testing.T, n int, asClock func(*stepping) clock.Clock) bool {
	t.Helper()
	s := &stepping{Manual: clocktest.NewManual(time.UnixMicro(DefaultLayout().scale().Micro(1000)))}
	// With a lead as long, waiting is done with timers alone, which follow the bubble.
	g := unkept(t, Config{Clock: asClock(s), Lead: relaxedLead})
	for _, err := g.TryNext(); !errors.Is(err, ErrSequenceExhausted); {
		_, err = g.TryNext()
	}
	s.n = n
	result := make(chan error, 1)
	began := time.Now()
	go func() { result <- second(g.Next()) }()
	select {
	case err := <-result:
		// Before some of the readings there is a wait for the clock, which stands still.
		if took := time.Since(began); !errors.Is(err, ErrClockRollback) || took > time.Duration(n)*time.Millisecond {
			t.Errorf("a step back at reading %d, after %v: %v", n, took, err)
		}
		return true
	case <-time.After(time.Minute):
	}
	reached := s.n <= 0
	if reached {
		t.Errorf("a step back at reading %d: Next blocks", n)
	} else if n < 4 {
		t.Errorf("Next has read the clock %d times before it waits, which proves nothing", n-1)
	}
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	<-result
	return reached
}

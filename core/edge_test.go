package core

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
)

// stepping is a clock that stands still, and steps back by an hour when it is called
// for the n-th time after n was set.
type stepping struct {
	*clocktest.Manual
	n atomic.Int64
}

func (s *stepping) count() {
	if s.n.Add(-1) == 0 {
		s.Advance(-time.Hour)
	}
}

func (s *stepping) UnixMicro() int64 {
	s.count()
	return s.Manual.UnixMicro()
}

func (s *stepping) Alarm(unixMicro int64) (ring <-chan struct{}, stop func()) {
	s.count()
	return s.Manual.Alarm(unixMicro)
}

// TestStepBackBetweenAttemptAndWait steps the clock back at each call of it by a Next that
// waits for the next tick. Next reports it when it reads the clock again, which is within a
// tick.
func TestStepBackBetweenAttemptAndWait(t *testing.T) {
	for name, asClock := range map[string]func(*stepping) clock.Clock{
		"with alarms": func(s *stepping) clock.Clock { return s },
		"without":     func(s *stepping) clock.Clock { return struct{ clock.Clock }{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 1
				for n <= 10 && stepBackAt(t, n, asClock) { // without alarms, it is read without end
					n++
				}
				if n < 5 {
					t.Errorf("Next has called the clock %d times before it waits, which proves nothing", n-1)
				}
			})
		})
	}
}

// stepBackAt lets the clock step back at the n-th call of a Next that waits, and reports
// whether there was such a call.
func stepBackAt(t *testing.T, n int, asClock func(*stepping) clock.Clock) bool {
	t.Helper()
	s := &stepping{Manual: clocktest.NewManual(time.UnixMicro(DefaultLayout().scale().Micro(1000)))}
	// With a lead as long, waiting is done with timers alone, which follow the bubble.
	g := unkept(t, Config{Clock: asClock(s), Lead: relaxedLead})
	for _, err := g.TryNext(); !errors.Is(err, ErrSequenceExhausted); {
		_, err = g.TryNext()
	}
	s.n.Store(int64(n))
	began := time.Now()
	var took time.Duration
	result := make(chan error, 1)
	go func() {
		err := second(g.Next())
		took = time.Since(began)
		result <- err
	}()
	time.Sleep(time.Minute)
	reached := s.n.Load() <= 0
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	err := <-result
	// Before some of the readings there is a wait for the clock, which stands still.
	if reached && (!errors.Is(err, ErrClockRollback) || took > time.Duration(n)*time.Millisecond) {
		t.Errorf("a step back at call %d, after %v: %v", n, took, err)
	}
	if !reached && !errors.Is(err, ErrClosed) {
		t.Errorf("Next of a generator that was closed: %v", err)
	}
	return reached
}

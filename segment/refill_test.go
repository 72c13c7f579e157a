package segment_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

// TestShared: all who wait for a refill share it, and none fails.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 100)
		store.Intercept(slow(time.Second))
		wantNext(t, s, 1, 100)
		var running sync.WaitGroup
		var sum atomic.Int64
		for range 64 {
			running.Go(func() {
				n, err := s.Next()
				if err != nil {
					t.Error(err)
				}
				sum.Add(n)
			})
		}
		running.Wait()
		if calls := store.Calls("take"); calls > 3 { // the mark of the second segment is crossed
			t.Errorf("%d ranges were taken", calls)
		}
		if want := int64(64*100 + 64*65/2); sum.Load() != want {
			safetytest.Of(t).Errorf("the sum is %d, want %d", sum.Load(), want)
		}
	})
}

// TestTimeout: Next waits for RefillTimeout, NextContext for its context, TryNext not at all; then
// the error says why.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		timeout := 700 * time.Millisecond
		s := sequence(t, store, segment.Config{MaxStep: 5, RefillTimeout: timeout})
		store.Intercept(down)
		wantNext(t, s, 1, 5)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		patient := func() (int64, error) { return s.NextContext(ctx) }
		for _, c := range []struct {
			what string
			next func() (int64, error)
			wait time.Duration
			why  error
		}{
			{"NextContext", patient, 5 * time.Second, context.DeadlineExceeded},
			{"Next", s.Next, timeout, errDown},
			{"TryNext", s.TryNext, 0, errDown},
		} {
			began := time.Now()
			_, err := c.next()
			wantErr(t, c.what, err, segment.ErrUnavailable)
			wantErr(t, c.what, err, c.why)
			if took := time.Since(began); took != c.wait {
				t.Errorf("%s took %v; want %v", c.what, took, c.wait)
			}
		}
		h := s.Health()
		wantErr(t, "Health.Err", h.Err, errDown)
		wantErr(t, "Health.Failing", h.Failing, errDown)
		if h.Healthy || h.Left != 0 || h.Failures == 0 {
			t.Errorf("Health: %+v", h)
		}
	})
}

// TestComesBack: service resumes within a second of the store's return, without anybody's help,
// also while somebody who is told of the failure takes a minute for that, as for sending a message.
func TestComesBack(t *testing.T) {
	for _, away := range []time.Duration{time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(5)
			var told atomic.Int64
			tell := func(segment.Health) { told.Add(1); time.Sleep(time.Minute) }
			s := sequence(t, store, segment.Config{MaxStep: 5, OnChange: tell})
			store.Intercept(down)
			wantNext(t, s, 1, 5)
			_, _ = s.TryNext()
			time.Sleep(away)
			store.Intercept(nil)
			time.Sleep(time.Second)
			if n, err := s.TryNext(); n != 6 || err != nil {
				t.Errorf("a second after its return: %d, %v", n, err)
			}
			time.Sleep(2 * time.Minute)
			if n := told.Load(); n != 2 {
				t.Errorf("OnChange was called %d times", n)
			}
		})
	}
}

// TestHalfAHold: at a steady rate a store that is frozen for half of the hold is not noticed.
func TestHalfAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold, pause = time.Minute, 10 * time.Millisecond
		store := fake(10)
		s := sequence(t, store, segment.Config{Hold: hold})
		use(t, s.Next, pause, 20*time.Second) // until the sizes follow the rate
		use(t, s.TryNext, pause, 2*hold)
		for range fulltest.Rounds(3, 100) {
			store.Intercept(slow(time.Hour))
			use(t, s.TryNext, pause, hold/2-3*time.Second) // an attempt may be under way at its return
			store.Intercept(nil)
			use(t, s.TryNext, pause, hold+7*time.Second)
		}
		if h := s.Health(); h.Step < 5000 || h.Step > 7000 || h.Rate < 90 || h.Rate > 110 {
			t.Errorf("at 100 numbers a second and a hold of %v, Health is %+v", hold, h)
		}
	})
}

// TestWentBack: a store that goes back is not believed, which is said at once, until it is above
// all that is in use. Meanwhile nothing is taken from it, which would raise it.
func TestWentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		var told []error
		tell := func(h segment.Health) { told = append(told, h.Failing) }
		s := sequence(t, store, segment.Config{MaxStep: 5, OnChange: tell})
		wantNext(t, s, 1, 7)
		synctest.Wait()
		store.Set("t", 3)
		wantNext(t, s, 8, 15)
		began := time.Now()
		_, err := s.Next()
		wantErr(t, "Next", err, segment.ErrWentBack)
		if took := time.Since(began); took != 0 {
			t.Errorf("the refusal took %v", took)
		}
		var back *segment.WentBackError
		if !errors.As(err, &back) || back.Tag != "t" || back.Above != 15 || back.Got.First != 3 {
			t.Fatalf("Next: %v", err)
		}
		// What was refused is put back: it might raise the store above what this sequence has had, and
		// not above what others have.
		wantStored(t, store, 3)
		taken := store.Calls("take")
		time.Sleep(time.Hour)
		_, err = s.Next()
		wantErr(t, "Next", err, segment.ErrWentBack)
		if calls := store.Calls("take"); calls != taken {
			t.Errorf("%d more ranges were taken", calls-taken)
		}
		store.Set("t", 100)
		time.Sleep(3 * time.Second)
		wantNext(t, s, 100, 120)
		synctest.Wait()
		if len(told) != 2 || told[0] == nil || told[1] != nil {
			t.Errorf("OnChange was told %v", told)
		}
	})
}

// TestStoreKnowsMore: a store that has handed out more to another sequence of the program, and went
// back, is asked for no range before it is above that.
func TestStoreKnowsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 5)
		store.Intercept(only("take", func(context.Context, string, string, func() error) error {
			return &segment.WentBackError{Tag: "t", Above: 100}
		}))
		wantNext(t, s, 1, 5)
		_, err := s.Next()
		wantErr(t, "Next", err, segment.ErrWentBack)
		store.Intercept(nil)
		store.Set("t", 50)
		taken := store.Calls("take")
		time.Sleep(time.Minute)
		if calls := store.Calls("take"); calls != taken {
			t.Errorf("%d ranges were asked for", calls-taken)
		}
		store.Set("t", 101)
		time.Sleep(3 * time.Second)
		wantNext(t, s, 101, 105)
	})
}

// TestRate: a burst needs one refill, and a segment that lasts too long is halved, within Step and
// MaxStep.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(100)
		s := sequence(t, store, segment.Config{Hold: 100 * time.Second, MaxStep: 50_000})
		use(t, s.Next, 10*time.Millisecond, 100*time.Second)
		if h := s.Health(); h.Step < 9_000 || h.Step > 11_000 {
			t.Errorf("at 100 a second for 100 s: %+v", h)
		}
		if calls := store.Calls("take"); calls > 6 {
			t.Errorf("%d ranges were taken", calls)
		}
		use(t, s.Next, time.Second, 60_000*time.Second)
		if h := s.Health(); h.Step < 100 || h.Step > 200 || h.Left > 400 {
			t.Errorf("at one a second: %+v", h)
		}
	})
}

// TestShortHold: with a hold of a second or a few the size follows the rate as well, and stays
// there, although segments of the first sizes are used up within a moment.
func TestShortHold(t *testing.T) {
	for _, tt := range []struct {
		hold         time.Duration
		most, wanted int64
	}{{time.Second, 0, 1000}, {9 * time.Second, 0, 9000}, {time.Second, 900, 900}} {
		synctest.Test(t, func(t *testing.T) {
			const pause = time.Millisecond
			store := fake(10)
			s := sequence(t, store, segment.Config{Hold: tt.hold, MaxStep: tt.most})
			use(t, s.Next, pause, 10*time.Second)
			least := tt.wanted
			for range 500 {
				use(t, s.Next, pause, 100*time.Millisecond)
				least = min(least, s.Health().Step)
			}
			if h := s.Health(); least < tt.wanted*3/4 || h.Step > tt.wanted*5/4 {
				t.Errorf("%+v: the step is %d, and was %d after the first seconds", tt, h.Step, least)
			}
			// In the first second the rate is not known, and a segment has ten numbers.
			if calls, most := int64(store.Calls("take")), 110+2*60_000/tt.wanted; calls > most {
				t.Errorf("%+v: %d ranges in a minute; want %d at most", tt, calls, most)
			}
		})
	}
}

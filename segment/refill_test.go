package segment_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

var errDown = errors.New("connection refused")

// down has every call fail while it is true.
type down struct{ atomic.Bool }

func (d *down) between(_ context.Context, _, _ string, do func() error) error {
	if d.Load() {
		return errDown
	}
	return do()
}

// frozen has every call hang until it is thawed or its context ends.
type frozen struct{ ice chan struct{} }

func (f *frozen) between(ctx context.Context, _, _ string, do func() error) error {
	select {
	case <-f.ice:
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestShared: all who wait for a refill share it, and none fails.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(100)
		s := sequence(t, store, segment.Config{MaxStep: 100})
		ice := &frozen{make(chan struct{})}
		store.Intercept(ice.between)
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
		synctest.Wait()
		time.Sleep(time.Second)
		close(ice.ice)
		running.Wait()
		synctest.Wait()
		if calls := store.Calls("take"); calls > 3 { // the mark of the second segment is crossed
			t.Errorf("%d ranges were taken", calls)
		}
		if want := int64(64*100 + 64*65/2); sum.Load() != want {
			t.Errorf("the sum is %d, want %d", sum.Load(), want)
		}
	})
}

// TestTimeout: Next waits for RefillTimeout, NextContext for its context, TryNext not at all; then the
// error says why.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		s := sequence(t, store, segment.Config{MaxStep: 5, RefillTimeout: 700 * time.Millisecond})
		var d down
		d.Store(true)
		store.Intercept(d.between)
		wantNext(t, s, 1, 5)
		began := time.Now()
		_, err := s.Next()
		if took := time.Since(began); took != 700*time.Millisecond || !errors.Is(err, segment.ErrUnavailable) || !errors.Is(err, errDown) {
			t.Errorf("Next after %v: %v", took, err)
		}
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = s.NextContext(ctx)
		if took := time.Since(began); took != 5*time.Second || !errors.Is(err, segment.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("NextContext after %v: %v", took, err)
		}
		began = time.Now()
		_, err = s.TryNext()
		if took := time.Since(began); took != 0 || !errors.Is(err, segment.ErrUnavailable) {
			t.Errorf("TryNext after %v: %v", took, err)
		}
		if h := s.Health(); h.Healthy || !errors.Is(h.Err, errDown) || !errors.Is(h.Failing, errDown) || h.Left != 0 || h.Failures == 0 {
			t.Errorf("Health: %+v", h)
		}
	})
}

// TestComesBack: service resumes within a second of the store's return, without anybody's help.
func TestComesBack(t *testing.T) {
	for _, away := range []time.Duration{time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(5)
			s := sequence(t, store, segment.Config{MaxStep: 5})
			var d down
			d.Store(true)
			store.Intercept(d.between)
			wantNext(t, s, 1, 5)
			_, _ = s.TryNext()
			time.Sleep(away)
			d.Store(false)
			time.Sleep(time.Second)
			if n, err := s.TryNext(); n != 6 || err != nil {
				t.Errorf("a second after its return: %d, %v", n, err)
			}
		})
	}
}

// TestSlowOnChange: who is told of a failure and takes time for it, as for sending a message, does not keep refills from being tried.
func TestSlowOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		var told atomic.Int64
		s := sequence(t, store, segment.Config{MaxStep: 5, OnChange: func(segment.Health) { told.Add(1); time.Sleep(time.Minute) }})
		var d down
		d.Store(true)
		store.Intercept(d.between)
		wantNext(t, s, 1, 5)
		_, _ = s.TryNext()
		time.Sleep(2 * time.Second)
		d.Store(false)
		time.Sleep(time.Second)
		if n, err := s.TryNext(); n != 6 || err != nil {
			t.Errorf("a second after the store's return: %d, %v", n, err)
		}
		time.Sleep(2 * time.Minute)
		if n := told.Load(); n != 2 {
			t.Errorf("OnChange was called %d times", n)
		}
	})
}

// TestHalfAHold: at a steady rate a store that is frozen for half of the hold is not noticed.
func TestHalfAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold, pause = time.Minute, 10 * time.Millisecond
		store := fake(10)
		s := sequence(t, store, segment.Config{Hold: hold})
		steady := func(d time.Duration) {
			for began := time.Now(); time.Since(began) < d; time.Sleep(pause) {
				if _, err := s.TryNext(); err != nil {
					t.Fatalf("%v after the start: %v; %+v", time.Since(began), err, s.Health())
				}
			}
		}
		for range 10 { // until the sizes follow the rate
			_, _ = s.NextContext(t.Context())
			time.Sleep(pause)
		}
		for range 2000 {
			if _, err := s.NextContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
		}
		steady(2 * hold)
		for range fulltest.Rounds(3, 100) {
			ice := &frozen{make(chan struct{})}
			store.Intercept(ice.between)
			steady(hold/2 - 3*time.Second) // an attempt may be under way when the store comes back
			close(ice.ice)
			steady(hold + 7*time.Second)
		}
		if h := s.Health(); h.Step < 5000 || h.Step > 7000 || h.Rate < 90 || h.Rate > 110 {
			t.Errorf("at 100 numbers a second and a hold of %v, Health is %+v", hold, h)
		}
	})
}

// TestRefused: what the store refuses is said at once, and when that is cured it goes on.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		s := sequence(t, store, segment.Config{MaxStep: 5})
		store.Delete("t")
		wantNext(t, s, 1, 5)
		_, err := s.Next()
		if !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next: %v", err)
		}
		began := time.Now()
		if _, err := s.NextContext(t.Context()); !errors.Is(err, segment.ErrUnknownTag) || time.Since(began) != 0 {
			t.Errorf("NextContext after %v: %v", time.Since(began), err)
		}
		if err := store.Create(t.Context(), segment.Tag{Name: "t", Next: 6, Step: 5}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		wantNext(t, s, 6, 20)
	})
}

// TestWentBack: a store that goes back is not believed, until it is above all that is in use. Meanwhile
// nothing is taken from it, which would raise it.
func TestWentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(5)
		var told []segment.Health
		s := sequence(t, store, segment.Config{MaxStep: 5, OnChange: func(h segment.Health) { told = append(told, h) }})
		wantNext(t, s, 1, 7)
		synctest.Wait()
		store.Set("t", 3)
		wantNext(t, s, 8, 15)
		_, err := s.Next()
		back := (*segment.WentBackError)(nil)
		if !errors.As(err, &back) || !errors.Is(err, segment.ErrWentBack) || back.Tag != "t" || back.Above != 15 || back.Got.First != 3 {
			t.Fatalf("Next: %v", err)
		}
		taken := store.Calls("take")
		time.Sleep(time.Hour)
		if n, err := s.Next(); !errors.Is(err, segment.ErrWentBack) {
			t.Errorf("Next: %d, %v", n, err)
		}
		if calls := store.Calls("take"); calls != taken {
			t.Errorf("%d more ranges were taken", calls-taken)
		}
		if err := store.Advance(t.Context(), "t", 100); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		wantNext(t, s, 100, 120)
		synctest.Wait()
		if len(told) != 2 || told[0].Failing == nil || told[1].Failing != nil {
			t.Errorf("OnChange was told %+v", told)
		}
	})
}

// TestRate: a burst needs one refill, and a segment that lasts too long is halved, within Step and MaxStep.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(100)
		s := sequence(t, store, segment.Config{Hold: 100 * time.Second, MaxStep: 50_000})
		for range 10_000 { // 100 a second for 100 s
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if h := s.Health(); h.Step < 9_000 || h.Step > 11_000 {
			t.Errorf("at 100 a second for 100 s: %+v", h)
		}
		if calls := store.Calls("take"); calls > 6 {
			t.Errorf("%d ranges were taken", calls)
		}
		for range 60_000 { // one a second
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if h := s.Health(); h.Step < 100 || h.Step > 200 {
			t.Errorf("at one a second: %+v", h)
		}
		if left := s.Health().Left; left > 400 {
			t.Errorf("%d numbers are held", left)
		}
	})
}

// TestShortHold: with a hold of a second or a few the size follows the rate as well, and stays there, although segments of the first sizes are used up within a moment.
func TestShortHold(t *testing.T) {
	for _, tt := range []struct {
		hold time.Duration
		most int64
	}{{time.Second, 0}, {2 * time.Second, 0}, {9 * time.Second, 0}, {time.Second, 900}} {
		synctest.Test(t, func(t *testing.T) {
			const rate, seconds = 1000, 60
			store := fake(10)
			s := sequence(t, store, segment.Config{Hold: tt.hold, MaxStep: tt.most})
			least, wanted := int64(0), rate*int64(tt.hold.Seconds())
			if tt.most > 0 {
				wanted = min(wanted, tt.most)
			}
			for i := range rate * seconds {
				if _, err := s.NextContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second / rate)
				if i == 10*rate {
					least = s.Health().Step
				} else if i > 10*rate {
					least = min(least, s.Health().Step)
				}
			}
			if h := s.Health(); least < wanted*3/4 || h.Step > wanted*5/4 {
				t.Errorf("%+v: the step is %d, and was %d after the first seconds; %d are wanted", tt, h.Step, least, wanted)
			}
			if calls, most := int64(store.Calls("take")), 20+2*rate*seconds/wanted; calls > most {
				t.Errorf("%+v: %d ranges were taken in %d s; want %d at most", tt, calls, seconds, most)
			}
		})
	}
}

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// slow has each call take a time.
func slow(d time.Duration) segmenttest.Between {
	return func(_ context.Context, _, _ string, do func() error) error {
		time.Sleep(d)
		return do()
	}
}

// TestLine: those who wait are served in the order in which they came, with small and large runs among them.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{MaxStep: 10})
		wantNext(t, s, 1, 10)
		synctest.Wait()
		store.Intercept(slow(time.Second))
		wantNext(t, s, 11, 20)
		const waiting = 40
		var running sync.WaitGroup
		var came [waiting]int64
		for i := range waiting {
			running.Go(func() {
				dst := make([]int64, 1+i%3)
				if n, err := s.Fill(t.Context(), dst); err != nil || n != len(dst) {
					t.Error(n, err)
				}
				came[i] = dst[0]
			})
			synctest.Wait() // it is in line
		}
		running.Wait()
		for i := 1; i < waiting; i++ {
			if came[i] <= came[i-1] {
				t.Errorf("the caller in place %d got %d, and the one before him %d", i, came[i], came[i-1])
			}
		}
	})
}

// TestCrowd: ten thousand who want numbers get as many as ten, one as many as the other, and none fails while the store answers.
func TestCrowd(t *testing.T) {
	const step, take, lasts = 100, time.Millisecond, 2 * time.Second
	var few int64
	for _, callers := range []int{10, 10_000} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(step)
			store.Intercept(slow(take))
			s := sequence(t, store, segment.Config{MaxStep: step})
			var all atomic.Int64
			each := make([]int64, callers)
			var running sync.WaitGroup
			began := time.Now()
			for i := range callers {
				running.Go(func() {
					for time.Since(began) < lasts {
						if _, err := s.Next(); err != nil {
							t.Error(err)
							return
						}
						each[i]++
						all.Add(1)
					}
				})
			}
			running.Wait()
			if few == 0 {
				few = all.Load()
			}
			if n := all.Load(); n < few*9/10 {
				t.Errorf("%d callers got %d numbers, and 10 got %d", callers, n, few)
			}
			for i, n := range each {
				if fair := all.Load() / int64(callers); callers > step && (n < fair*3/4 || n > fair*5/4+2*step) { // there is no line at first
					t.Errorf("of %d callers, number %d got %d numbers; %d are a fair share", callers, i, n, fair)
					break
				}
			}
		})
	}
}

// TestTooFast: where numbers are used up faster than the store gives them, the error says that, and what to change.
func TestTooFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(1)
		store.Intercept(slow(time.Second))
		s := sequence(t, store, segment.Config{MaxStep: 1})
		var running sync.WaitGroup
		var failed atomic.Int64
		for range 10 {
			running.Go(func() {
				_, err := s.Next()
				if err == nil {
					return
				}
				failed.Add(1)
				if !errors.Is(err, segment.ErrUnavailable) || strings.Contains(err.Error(), "reached") ||
					!strings.Contains(err.Error(), "used up faster than the store gives them") || !strings.Contains(err.Error(), "raise MaxStep") {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if failed.Load() == 0 {
			t.Error("ten callers got ten numbers in two seconds, of which the store gives one each")
		}
	})
}

// TestChangedStep: a step that somebody has changed is noticed within a minute, up and down, at one more call a minute to the store.
func TestChangedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{Hold: time.Second})
		use := func(d time.Duration) {
			for began := time.Now(); time.Since(began) < d; time.Sleep(100 * time.Millisecond) {
				if _, err := s.NextContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		use(10 * time.Second)
		for _, step := range []int64{200, 20} {
			if err := store.SetStep(t.Context(), "t", step); err != nil {
				t.Fatal(err)
			}
			use(2 * time.Minute) // segments of 200 last for 20 s
			if got := s.Health().Step; got != step {
				t.Errorf("the step is %d; it was set to %d two minutes ago", got, step)
			}
		}
		if n := store.Calls("tag"); n > 5 {
			t.Errorf("the tag was read %d times in four minutes", n)
		}
	})
}

// TestSetBackCost: a thousand tags that were set back cost the store at most 50 rows a second, and are all back within a minute after they
// were advanced.
func TestSetBackCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tags, lasts = 1000, 2 * time.Minute
		var all []segment.Tag
		for i := range tags {
			all = append(all, segment.Tag{Name: fmt.Sprintf("t%d", i), Next: 1, Step: 10})
		}
		store := segmenttest.NewFake(all...)
		s, err := segment.NewSet(t.Context(), store, segment.Config{MaxStep: 10, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context())
		spend := func() (failed int) {
			for _, tag := range all {
				q, err := s.Sequence(t.Context(), tag.Name)
				if err != nil {
					t.Fatal(err)
				}
				for range 30 {
					if _, err = q.TryNext(); err != nil {
						break
					}
				}
				if errors.Is(err, segment.ErrWentBack) {
					failed++
				}
				synctest.Wait()
			}
			return failed
		}
		for _, tag := range all {
			if _, err := s.Fill(t.Context(), tag.Name, make([]int64, 45)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, tag := range all {
			store.Set(tag.Name, 1)
		}
		spend()
		spend()
		if n := spend(); n != tags {
			t.Errorf("%d of %d tags say that they went back", n, tags)
		}
		lists, looks := store.Calls("tags"), store.Calls("tag")
		time.Sleep(lasts)
		if store.Calls("tag") == looks {
			t.Error("no tag was looked at")
		}
		rows := (store.Calls("tags")-lists)*tags + store.Calls("tag") - looks
		if most := int(50 * lasts.Seconds()); rows > most {
			t.Errorf("%d rows were read in %v; want %d at most", rows, lasts, most)
		}
		for _, tag := range all {
			store.Set(tag.Name, 10_000)
		}
		time.Sleep(time.Minute)
		if n := spend(); n != 0 {
			t.Errorf("%d of %d tags are not back a minute after they were advanced", n, tags)
		}
	})
}

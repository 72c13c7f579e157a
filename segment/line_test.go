package segment_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestLine: those who wait are served in the order in which they came, with small and large runs
// among them.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 10)
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
				if _, err := s.Fill(t.Context(), dst); err != nil {
					t.Error(err)
				}
				came[i] = dst[0]
			})
			synctest.Wait() // it is in line
		}
		running.Wait()
		for i := 1; i < waiting; i++ {
			if came[i] <= came[i-1] {
				safetytest.Of(t).Errorf("the caller in place %d got %d, and the one before %d", i, came[i],
					came[i-1])
			}
		}
	})
}

// TestCrowd: ten thousand who want numbers get as many as ten, one as many as the other, and none
// fails while the store answers.
func TestCrowd(t *testing.T) {
	const step, lasts = 100, 2 * time.Second
	var few int64
	for _, callers := range []int{10, 10_000} {
		synctest.Test(t, func(t *testing.T) {
			store, s := steps(t, step)
			store.Intercept(slow(time.Millisecond))
			each := make([]int64, callers)
			var running sync.WaitGroup
			for i := range callers {
				running.Go(func() {
					use(t, func() (int64, error) { each[i]++; return s.Next() }, 0, lasts)
				})
			}
			running.Wait()
			all := int64(s.Health().Issued)
			few = max(few, all)
			if all < few*9/10 {
				t.Errorf("%d callers got %d numbers, and 10 got %d", callers, all, few)
			}
			fair := all / int64(callers)
			for i, n := range each {
				// There is no line at first.
				if callers > step && (n < fair*3/4 || n > fair*5/4+2*step) {
					t.Fatalf("of %d callers, number %d got %d; %d are a fair share", callers, i, n, fair)
				}
			}
		})
	}
}

// TestTooFast: where numbers are used up faster than the store gives them, the error says that, and
// what to change.
func TestTooFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 1)
		store.Intercept(slow(time.Second))
		var running sync.WaitGroup
		var failed atomic.Int64
		for range 10 {
			running.Go(func() {
				_, err := s.Next()
				if err == nil {
					return
				}
				failed.Add(1)
				wantErr(t, "Next", err, segment.ErrUnavailable)
				if text := err.Error(); strings.Contains(text, "reached") || !strings.Contains(text,
					"used up faster than the store gives them") || !strings.Contains(text, "raise MaxStep") {
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

// TestChangedStep: a step that somebody has changed is noticed within a minute, up and down, at one
// more call a minute to the store.
func TestChangedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{Hold: time.Second})
		use(t, s.Next, 100*time.Millisecond, 10*time.Second)
		for _, step := range []int64{200, 20, 2 * segment.DefaultMaxStep} {
			wantErr(t, "SetStep", store.SetStep(t.Context(), "t", step), nil)
			use(t, s.Next, 100*time.Millisecond, 2*time.Minute) // segments of 200 last for 20 s
			if got := s.Health().Step; got != step {
				t.Errorf("the step is %d; it was set to %d two minutes ago", got, step)
			}
		}
		if n := store.Calls("tag"); n > 7 {
			t.Errorf("the tag was read %d times in six minutes", n)
		}
	})
}

// TestSetBackCost: a thousand tags that were set back cost the store at most 50 rows a second, and
// are all back within a minute after they were advanced.
func TestSetBackCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tags, lasts = 1000, 2 * time.Minute
		store := segmenttest.NewFake()
		setAll := func(next int64) {
			for i := range tags {
				store.Set(fmt.Sprint(i), next)
			}
		}
		for i := range tags {
			tag := segment.Tag{Name: fmt.Sprint(i), Next: 1, Step: 10}
			wantErr(t, "Create", store.Create(t.Context(), tag), nil)
		}
		s := set(t, store, segment.Config{MaxStep: 10, Logger: slog.New(slog.DiscardHandler)})
		spend := func() (failed int) {
			for _, tag := range s.Tags() {
				q, err := s.Sequence(t.Context(), tag)
				for i := 0; i < 30 && err == nil; i++ {
					_, err = q.TryNext()
				}
				if errors.Is(err, segment.ErrWentBack) {
					failed++
				}
				synctest.Wait()
			}
			return failed
		}
		for _, tag := range s.Tags() {
			if _, err := s.Fill(t.Context(), tag, make([]int64, 45)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		setAll(1)
		spend()
		spend()
		if n := spend(); n != tags {
			t.Errorf("%d of %d tags say that they went back", n, tags)
		}
		lists, looks := store.Calls("tags"), store.Calls("tag")
		time.Sleep(lasts)
		looks = store.Calls("tag") - looks
		rows := (store.Calls("tags")-lists)*tags + looks
		if most := int(50 * lasts.Seconds()); looks == 0 || rows > most {
			t.Errorf("%d tags and %d rows were read in %v; want %d at most", looks, rows, lasts, most)
		}
		setAll(10_000)
		time.Sleep(time.Minute)
		if n := spend(); n != 0 {
			t.Errorf("%d of %d tags are not back a minute after they were advanced", n, tags)
		}
	})
}

package segment_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

const week = 7 * 24 * time.Hour

// TestAge: an idle process gives back what is too old, and goes on there.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for used := int64(0); used < 25; used++ {
			store := fake(10)
			s := sequence(t, store, segment.Config{MaxStep: 10, MaxAge: week})
			wantNext(t, s, 1, used)
			time.Sleep(week - time.Minute)
			if n := store.Calls("give back"); n != 0 {
				t.Errorf("after %d numbers %d calls gave back what is not a week old", used, n)
			}
			time.Sleep(week + time.Hour) // of the next segment, too
			r, err := store.Tag(t.Context(), "t")
			if r.Next != used+1 || err != nil {
				t.Errorf("after %d numbers and two weeks the store goes on with %d, %v", used, r.Next, err)
			}
			if h := s.Health(); h.Left != 0 || h.Issued != uint64(used) {
				t.Errorf("after %d numbers: %+v", used, h)
			}
			wantNext(t, s, used+1, used+30)
		}
	})
}

// TestTooOld: numbers that cannot be given back are left out, so that no old one comes after a new
// one.
func TestTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		idle := sequence(t, store, segment.Config{MaxStep: 10, MaxAge: week})
		wantNext(t, idle, 1, 1)
		synctest.Wait() // it has the next segment
		wantNext(t, sequence(t, store, segment.Config{MaxStep: 10}), 21, 50)
		time.Sleep(2 * week)
		synctest.Wait()
		n, err := idle.Next()
		if n <= 50 || err != nil {
			t.Errorf("a week later the idle one has %d, %v", n, err)
		}
	})
}

// TestAgeInUse: a sequence that is used while its segments grow old gives out all numbers once, in
// order.
func TestAgeInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(slow(100 * time.Millisecond))
		var mu sync.Mutex
		seen := map[int64]bool{}
		var running sync.WaitGroup
		began := time.Now()
		for i := range 3 {
			s := sequence(t, store, segment.Config{MaxStep: 30, Hold: time.Second, MaxAge: time.Second})
			for j := range 4 {
				running.Go(func() {
					for last := int64(0); time.Since(began) < 5*time.Minute; time.Sleep(time.Duration(i*i*400+j*70+1) * time.Millisecond) {
						n, err := s.Next()
						if err != nil {
							t.Error(err)
							return
						}
						if n <= last {
							t.Errorf("after %d came %d", last, n)
						}
						last = n
						mu.Lock()
						if seen[n] {
							t.Errorf("%d came twice", n)
						}
						seen[n] = true
						mu.Unlock()
					}
				})
			}
		}
		running.Wait()
		if n := store.Calls("give back"); n < 50 {
			t.Errorf("%d calls gave something back: does this test still find old segments?", n)
		}
	})
}

// TestBadAge: an age that segments reach as a rule is refused.
func TestBadAge(t *testing.T) {
	for _, age := range []time.Duration{-1, time.Minute} {
		if _, err := segment.New(within(t), segmenttest.NewFake(), "t", segment.Config{MaxAge: age}); err == nil {
			t.Errorf("MaxAge %v is taken", age)
		}
	}
}

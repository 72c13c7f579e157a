package segment_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
)

const week = 7 * 24 * time.Hour

// TestAge: an idle process gives back what is too old, and goes on there.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for used := range int64(25) {
			store := fake(10)
			s := sequence(t, store, segment.Config{MaxStep: 10, MaxAge: week})
			wantNext(t, s, 1, used)
			time.Sleep(week - time.Minute)
			if n := store.Calls("give back"); n != 0 {
				t.Errorf("after %d numbers %d calls gave back what is not a week old", used, n)
			}
			time.Sleep(week + time.Hour) // of the next segment, too
			wantStored(t, store, used+1)
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
		if n, err := idle.Next(); n <= 50 || err != nil {
			safetytest.Unless(t, err).Errorf("a week later the idle one has %d, %v", n, err)
		}
	})
}

// TestAgeInUse: a sequence that is used while its segments grow old gives out all numbers once, in
// order.
func TestAgeInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(slow(100 * time.Millisecond))
		var seen ledger
		var running sync.WaitGroup
		config := segment.Config{MaxStep: 30, Hold: time.Second, MaxAge: time.Second}
		for i := range 3 {
			s := sequence(t, store, config)
			for j := range 4 {
				running.Go(func() {
					last := int64(0)
					use(t, func() (int64, error) {
						n, err := s.Next()
						if n <= last {
							safetytest.Of(t).Errorf("after %d came %d, %v", last, n, err)
						}
						last = n
						seen.note(t, n)
						return n, nil
					}, time.Duration(i*i*400+j*70+1)*time.Millisecond, 5*time.Minute)
				})
			}
		}
		running.Wait()
		if n := store.Calls("give back"); n < 50 {
			t.Errorf("%d calls gave something back: does this test still find old segments?", n)
		}
	})
}

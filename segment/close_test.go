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

// TestGivenBack: the rest of all that is held is given back in one step, and the next process goes on there.
func TestGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for used := int64(0); used < 40; used++ {
			store := fake(10)
			s := sequence(t, store, segment.Config{MaxStep: 10})
			wantNext(t, s, 1, used)
			synctest.Wait()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if calls := store.Calls("give back"); calls != 1 {
				t.Errorf("after %d: it was called %d times", used, calls)
			}
			wantNext(t, sequence(t, store, segment.Config{}), used+1, used+5)
			if _, err := s.Next(); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("Next after Close: %v", err)
			}
			if _, err := s.Fill(t.Context(), make([]int64, 1)); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("Fill after Close: %v", err)
			}
			if h := s.Health(); h.Issued != uint64(used) || h.Healthy || !errors.Is(h.Err, segment.ErrClosed) || h.Left != 0 {
				t.Errorf("Health after Close: %+v", h)
			}
		}
	})
}

// TestNotContiguous: of two segments with somebody else's between them the later one alone is given back.
func TestNotContiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		a := sequence(t, store, segment.Config{MaxStep: 10})
		b := sequence(t, store, segment.Config{MaxStep: 10}) // 11 to 20
		wantNext(t, a, 1, 5)
		synctest.Wait() // 21 to 30
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantNext(t, sequence(t, store, segment.Config{}), 21, 30)
		wantNext(t, b, 11, 20)
	})
}

// TestGivenBackOnce: what becomes of it, it is sent once, and a second Close returns what the first did.
func TestGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{})
		var d down
		d.Store(true)
		store.Intercept(d.between)
		first := s.Close(t.Context())
		if !errors.Is(first, errDown) {
			t.Errorf("Close: %v", first)
		}
		time.Sleep(time.Hour)
		if again := s.Close(t.Context()); !errors.Is(again, errDown) {
			t.Errorf("Close again: %v", again)
		}
		if calls := store.Calls("give back"); calls != 1 {
			t.Errorf("it was sent %d times", calls)
		}
	})
}

// TestCloseDuringRefill: a range that arrives while the sequence is closed is given back as well.
func TestCloseDuringRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{MaxStep: 10})
		store.Intercept(func(_ context.Context, op, _ string, do func() error) error {
			if op == "take" {
				time.Sleep(time.Second)
			}
			return do()
		})
		wantNext(t, s, 1, 3)
		synctest.Wait()
		waiting := make(chan error)
		go func() {
			_, err := s.Fill(context.Background(), make([]int64, 100))
			waiting <- err
		}()
		synctest.Wait()
		go func() { _ = s.Close(context.Background()) }()
		if err := <-waiting; !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Fill: %v", err)
		}
		time.Sleep(2 * time.Second)
		store.Intercept(nil)
		wantNext(t, sequence(t, store, segment.Config{}), 11, 12)
	})
}

// TestCloseEnds: Close does not wait for a store that hangs beyond its context.
func TestCloseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{MaxStep: 10, RefillTimeout: time.Hour})
		ice := &frozen{make(chan struct{})}
		store.Intercept(ice.between)
		wantNext(t, s, 1, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close, with nothing to give back: %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestCloseWhileUsed: callers that come before own their numbers, and nobody else gets those.
func TestCloseWhileUsed(t *testing.T) {
	for range fulltest.Rounds(200, 20_000) {
		store := fake(50)
		s := sequence(t, store, segment.Config{MaxStep: 50})
		var highest, issued atomic.Int64
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for {
					n, err := s.Next()
					if err != nil {
						return
					}
					issued.Add(1)
					for old := highest.Load(); n > old && !highest.CompareAndSwap(old, n); old = highest.Load() {
					}
				}
			})
		}
		for issued.Load() < 20 {
			// They have begun.
			_ = s.Health()
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		if highest.Load() != issued.Load() {
			t.Fatalf("%d numbers were issued up to %d", issued.Load(), highest.Load())
		}
		r, err := store.Take(t.Context(), "t", 1)
		if err != nil || r.First != issued.Load()+1 {
			t.Fatalf("after %d numbers the store goes on with %v, %v", issued.Load(), r, err)
		}
	}
}

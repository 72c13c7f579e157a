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

// TestGivenBack: the rest of all that is held is given back in one step, and the next process goes
// on there.
func TestGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for used := range int64(40) {
			store, s := steps(t, 10)
			wantNext(t, s, 1, used)
			synctest.Wait()
			wantErr(t, "Close", s.Close(t.Context()), nil)
			if calls := store.Calls("give back"); calls != 1 {
				safetytest.Of(t).Errorf("after %d: it was called %d times", used, calls)
			}
			wantStored(t, store, used+1)
			_, err := s.Next()
			wantErr(t, "Next after Close", err, segment.ErrClosed)
			_, err = s.Fill(t.Context(), make([]int64, 1))
			wantErr(t, "Fill after Close", err, segment.ErrClosed)
			h := s.Health()
			wantErr(t, "Health after Close", h.Err, segment.ErrClosed)
			if h.Issued != uint64(used) || h.Healthy || h.Left != 0 {
				t.Errorf("Health after Close: %+v", h)
			}
		}
	})
}

// TestNotContiguous: of two segments with somebody else's between them the later one alone is given
// back.
func TestNotContiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := steps(t, 10)
		sequence(t, store, segment.Config{MaxStep: 10}) // 11 to 20
		wantNext(t, a, 1, 5)
		synctest.Wait() // 21 to 30
		wantErr(t, "Close", a.Close(t.Context()), nil)
		wantStored(t, store, 21)
	})
}

// TestGivenBackOnce: what becomes of it, it is sent once, and a second Close returns what the first
// did.
func TestGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 10)
		store.Intercept(down)
		wantErr(t, "Close", s.Close(t.Context()), errDown)
		time.Sleep(time.Hour)
		wantErr(t, "Close again", s.Close(t.Context()), errDown)
		if calls := store.Calls("give back"); calls != 1 {
			safetytest.Of(t).Errorf("it was sent %d times", calls)
		}
	})
}

// TestCloseDuringRefill: a range that arrives while the sequence is closed is given back as well.
func TestCloseDuringRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := steps(t, 10)
		store.Intercept(only("take", func(_ context.Context, _, _ string, do func() error) error {
			time.Sleep(time.Second) // the request is on its way, whatever becomes of its sender
			return do()
		}))
		wantNext(t, s, 1, 3)
		synctest.Wait()
		waiting := make(chan error)
		go func() {
			_, err := s.Fill(context.Background(), make([]int64, 100))
			waiting <- err
		}()
		synctest.Wait()
		go func() { _ = s.Close(context.Background()) }()
		wantErr(t, "Fill", <-waiting, segment.ErrClosed)
		time.Sleep(2 * time.Second)
		wantStored(t, store, 11)
	})
}

// TestCloseEnds: Close does not wait for a store that hangs beyond its context.
func TestCloseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := sequence(t, store, segment.Config{MaxStep: 10, RefillTimeout: time.Hour})
		store.Intercept(slow(time.Hour))
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
		store, s := steps(t, 50)
		var seen ledger
		var issued atomic.Int64
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for n, err := s.Next(); !errors.Is(err, segment.ErrClosed); n, err = s.Next() {
					seen.note(t, n)
					issued.Add(1)
				}
			})
		}
		for issued.Load() < 20 {
			// They have begun.
			_ = s.Health()
		}
		wantErr(t, "Close", s.Close(t.Context()), nil)
		running.Wait()
		// As many were given out as there are below it, each once.
		wantStored(t, store, issued.Load()+1)
	}
}

// TestReadyAfterClose: a sequence that is closed is not ready, also if it takes numbers on demand.
func TestReadyAfterClose(t *testing.T) {
	for _, most := range []int64{1, 10} {
		s, err := segment.New(t.Context(), fake(10), "t", segment.Config{MaxStep: most})
		if err != nil {
			t.Fatal(err)
		}
		wantErr(t, "Close", s.Close(t.Context()), nil)
		wantErr(t, "Ready", s.Ready(t.Context()), segment.ErrClosed)
	}
}

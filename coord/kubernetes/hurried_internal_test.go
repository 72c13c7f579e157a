package kubernetes

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// slow is a client of an API server that takes some time for each request, in a process that may die.
type slow struct {
	*fakeAPI
	takes time.Duration
	dies  <-chan time.Time // nil: it does not
}

// RoundTrip implements [http.RoundTripper].
func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.takes):
		return s.fakeAPI.RoundTrip(r)
	case <-s.dies:
		<-r.Context().Done()
	case <-r.Context().Done():
	}
	return nil, r.Context().Err()
}

// TestHurried: processes start in a namespace that nobody has used, and each gives up before the first slots can be
// made, or dies. They get on nevertheless: nobody waits for long for somebody who has given up.
func TestHurried(t *testing.T) {
	const starters, takes, patience = 40, 100 * time.Millisecond, time.Second
	for name, tc := range map[string]struct {
		begin func(ctx context.Context) (context.Context, context.CancelFunc)
		dies  time.Duration
	}{
		"its time is over": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, patience)
		}, 0},
		"it is told to end": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(patience, cancel)
			return ctx, cancel
		}, 0},
		"it dies": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, patience)
		}, 7 * takes},
	} {
		t.Run(name, func(t *testing.T) {
			// Whose turn it is is random. Who waits for a claim to end does so every time.
			shortest := time.Hour
			for range 5 {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeAPI()
					began := time.Now()
					var all sync.WaitGroup
					for i := range starters {
						all.Go(func() {
							time.Sleep(time.Duration(i) * 10 * time.Millisecond)
							for time.Since(began) < time.Minute {
								ctx, cancel := tc.begin(t.Context())
								err := f.start(ctx, t, takes, tc.dies)
								cancel()
								if err == nil {
									return
								}
							}
							t.Errorf("starter %d has no worker ID after %v", i, time.Since(began))
						})
					}
					all.Wait()
					took := time.Since(began)
					shortest = min(shortest, took)
					t.Logf("%d starters have worker IDs after %v, %v", starters, took, f.counts)
				})
				if shortest <= claimTime {
					return
				}
			}
			t.Errorf("%d starters have worker IDs after %v at best; want less than a claim may last, %v", starters, shortest, claimTime)
		})
	}
}

// TestFewSlots: who has not the time to make all the slots that it wants to make makes some, and has one of them in time.
func TestFewSlots(t *testing.T) {
	const takes, patience = 100 * time.Millisecond, 1500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := f.start(ctx, t, takes, 0); err != nil {
			t.Errorf("%v, with %v", err, f.counts)
		}
	})
}

// start is a process that acquires a worker ID, and may die after some time.
func (f *fakeAPI) start(ctx context.Context, t *testing.T, takes, dies time.Duration) error {
	t.Helper()
	s := slow{fakeAPI: f, takes: takes}
	if dies > 0 {
		dead := make(chan time.Time)
		timer := time.AfterFunc(dies, func() { close(dead) })
		defer timer.Stop()
		s.dies = dead
	}
	c, err := New(&http.Client{Transport: s}, "http://h", "orders", Options{In: "shop", Clock: f.clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Acquire(ctx, f.request(drivertest.Capacity))
	return err
}

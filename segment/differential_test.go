package segment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

// locked is a sequence as one writes it first: everything under a lock, one segment, and none ahead.
type locked struct {
	mu    sync.Mutex
	store segment.Store
	step  int64
	have  segment.Range
	held  bool
}

func (l *locked) next(ctx context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		r, err := l.store.Take(ctx, "t", l.step)
		if err != nil {
			return 0, err
		}
		l.have, l.held = r, true
	}
	n := l.have.First
	l.have.First++
	l.held = l.have.First <= l.have.Last
	return n, nil
}

func (l *locked) close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return nil
	}
	_, err := l.store.GiveBack(ctx, "t", l.have)
	return err
}

// TestLikeALock: with one caller, whatever it calls, the numbers are those of the version with a lock,
// and so is where the store goes on after Close.
func TestLikeALock(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(50, 5000)) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			step := 1 + rng.Int64N(50)
			ours, theirs := fake(step), fake(step)
			oracle := &locked{store: theirs, step: step}
			s, err := segment.New(t.Context(), ours, "t", segment.Config{MaxStep: step + rng.Int64N(200)})
			if err != nil {
				t.Fatal(err)
			}
			for range rng.IntN(200) {
				got, what := call(t, s, rng)
				for _, n := range got {
					if want, err := oracle.next(t.Context()); err != nil || n != want {
						t.Fatalf("seed %d: %s gave %d, want %d, %v", seed, what, n, want, err)
					}
				}
				if rng.IntN(2) == 0 {
					synctest.Wait()
				}
			}
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := oracle.close(t.Context()); err != nil {
				t.Fatal(err)
			}
			a, err1 := ours.Tags(t.Context())
			b, err2 := theirs.Tags(t.Context())
			if err1 != nil || err2 != nil || a[0].Next != b[0].Next {
				t.Errorf("seed %d: the store goes on with %d, want %d", seed, a[0].Next, b[0].Next)
			}
		})
	}
}

// call makes one call and returns the numbers that it gave.
func call(t *testing.T, s *segment.Sequence, rng *rand.Rand) (got []int64, what string) {
	t.Helper()
	switch rng.IntN(4) {
	case 0:
		got = make([]int64, rng.IntN(120))
		if n, err := s.Fill(t.Context(), got); n != len(got) || err != nil {
			t.Fatal(n, err)
		}
		return got, fmt.Sprintf("Fill of %d", len(got))
	case 1:
		if n, err := s.TryNext(); err == nil { // it may not wait
			got = []int64{n}
		}
		return got, "TryNext"
	case 2:
		n, err := s.NextContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return []int64{n}, "NextContext"
	}
	n, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	return []int64{n}, "Next"
}

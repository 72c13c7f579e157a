package segment_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestNext: numbers follow each other without a gap, across segments and by each way to get them.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sequence(t, fake(10), segment.Config{MaxStep: 10})
		wantNext(t, s, 1, 35)
		if n, err := s.NextContext(t.Context()); n != 36 || err != nil {
			t.Errorf("NextContext = %d, %v", n, err)
		}
		dst := make([]int64, 50)
		if n, err := s.Fill(t.Context(), dst); n != 50 || err != nil || dst[0] != 37 || dst[49] != 86 || !slices.IsSorted(dst) {
			t.Errorf("Fill = %d, %v, %v", n, err, dst)
		}
		want := int64(87)
		for n, err := range s.All(t.Context()) {
			if n != want || err != nil {
				t.Errorf("All gave %d, %v; want %d", n, err, want)
			}
			if want++; want > 120 {
				break
			}
		}
		synctest.Wait()
		if n, err := s.TryNext(); n != 121 || err != nil {
			t.Errorf("TryNext = %d, %v", n, err)
		}
		if h := s.Health(); h.Issued != 121 || !h.Healthy || h.Err != nil || h.Tag != "t" {
			t.Errorf("Health: %+v", h)
		}
	})
}

// TestOneRefill: a segment costs one call to the store, whoever crosses the mark and however often.
func TestOneRefill(t *testing.T) {
	for _, run := range []int{1, 7, 30, 1000, 2500} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(1000)
			s := sequence(t, store, segment.Config{MaxStep: 1000})
			for issued := 0; issued < 100_000; issued += run {
				if n, err := s.Fill(t.Context(), make([]int64, run)); n != run || err != nil {
					t.Fatal(n, err)
				}
			}
			synctest.Wait()
			issued := int(s.Health().Issued)
			if calls, most := store.Calls("take"), issued/1000+2; calls > most {
				t.Errorf("by %d: %d numbers took %d ranges, want %d at most", run, issued, calls, most)
			}
		})
	}
}

// TestMark: a refill begins after a tenth of the first segment, also if one run jumps over the mark.
func TestMark(t *testing.T) {
	for name, take := range map[string]func(s *segment.Sequence, n int) error{
		"Next": func(s *segment.Sequence, n int) error {
			for range n {
				if _, err := s.Next(); err != nil {
					return err
				}
			}
			return nil
		},
		"Fill": func(s *segment.Sequence, n int) error {
			_, err := s.Fill(context.Background(), make([]int64, n))
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(1000)
			s := sequence(t, store, segment.Config{})
			if err := take(s, 99); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if calls := store.Calls("take"); calls != 1 {
				t.Errorf("%s: before the mark, %d ranges were taken", name, calls)
			}
			if err := take(s, 10); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if calls := store.Calls("take"); calls != 2 {
				t.Errorf("%s: after the mark, %d ranges were taken", name, calls)
			}
			if h := s.Health(); h.Next.First != 1001 || h.Left != 1000-109+h.Next.Len() {
				t.Errorf("%s: Health: %+v", name, h)
			}
		})
	}
}

// TestPresentFirst: the next segment is not begun before the present one is spent.
func TestPresentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sequence(t, fake(100), segment.Config{MaxStep: 100})
		for want := int64(1); want <= 250; want++ {
			wantNext(t, s, want, want)
			synctest.Wait() // the refill is over
		}
	})
}

// TestConcurrent: 64 goroutines get each number once, and each of them rising ones.
func TestConcurrent(t *testing.T) {
	const workers, each = 64, 2000
	s := sequence(t, fake(100), segment.Config{MaxStep: 300})
	var mu sync.Mutex
	var all []int64
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			mine := make([]int64, 0, each)
			for len(mine) < each {
				if w%2 == 0 {
					n, err := s.Next()
					if err != nil {
						t.Error(err)
						return
					}
					mine = append(mine, n)
					continue
				}
				dst := make([]int64, min(1+w*7%150, each-len(mine)))
				if _, err := s.Fill(t.Context(), dst); err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, dst...)
			}
			for i := 1; i < len(mine); i++ {
				if mine[i] <= mine[i-1] {
					t.Errorf("after %d came %d", mine[i-1], mine[i])
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	running.Wait()
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i+1) {
			t.Fatalf("number %d of all in order is %d", i+1, n)
		}
	}
	if issued := s.Health().Issued; issued != workers*each {
		t.Errorf("Health says %d were issued, %d were", issued, workers*each)
	}
}

// TestEnd: the last numbers are given out and no caller wraps, however many there are after it.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const last = math.MaxInt64 - 1
		store := segmenttest.NewFake(segment.Tag{Name: "t", Next: last - 24, Step: 10})
		s := sequence(t, store, segment.Config{})
		wantNext(t, s, last-24, last)
		for range 100 {
			if n, err := s.Next(); !errors.Is(err, segment.ErrExhausted) {
				t.Fatalf("Next after the last number = %d, %v", n, err)
			}
		}
		if n, err := s.Fill(t.Context(), make([]int64, 1000)); n != 0 || !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fill = %d, %v", n, err)
		}
	})
}

// TestSmall: segments of one number work.
func TestSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sequence(t, fake(1), segment.Config{MaxStep: 1})
		wantNext(t, s, 1, 100)
	})
}

// TestInvalid: what cannot be is refused with its value.
func TestInvalid(t *testing.T) {
	for _, c := range []segment.Config{{Step: -1}, {MaxStep: -1}, {Step: 5, MaxStep: 4}, {Hold: time.Millisecond}, {Hold: -1}, {RefillTimeout: 1}, {Step: segment.MaxStep + 1}, {MaxStep: segment.MaxStep + 1}} {
		if _, err := segment.New(t.Context(), fake(1), "t", c); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := segment.NewSet(t.Context(), fake(1), c); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("NewSet with %+v: %v", c, err)
		}
	}
	if _, err := segment.New(t.Context(), nil, "t", segment.Config{}); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Error(err)
	}
	if _, err := segment.New(t.Context(), fake(1), " t", segment.Config{}); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Error(err)
	}
	if _, err := segment.New(within(t), fake(1), "other", segment.Config{}); !errors.Is(err, segment.ErrUnknownTag) {
		t.Error(err)
	}
}

// TestAllocations: a number costs none.
func TestAllocations(t *testing.T) {
	s := sequence(t, fake(1_000_000), segment.Config{})
	dst := make([]int64, 100)
	for name, call := range map[string]func(){
		"Next":    func() { _, _ = s.Next() },
		"TryNext": func() { _, _ = s.TryNext() },
		"Fill":    func() { _, _ = s.Fill(context.Background(), dst) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

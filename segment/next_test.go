package segment_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestNext: numbers follow each other without a gap, across segments and by each way to get them.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := steps(t, 10)
		wantNext(t, s, 1, 35)
		if n, err := s.NextContext(t.Context()); n != 36 || err != nil {
			safetytest.Unless(t, err).Errorf("NextContext = %d, %v", n, err)
		}
		dst := make([]int64, 50)
		n, err := s.Fill(t.Context(), dst)
		if n != 50 || err != nil || dst[0] != 37 || dst[49] != 86 || !slices.IsSorted(dst) {
			safetytest.Unless(t, err).Errorf("Fill = %d, %v, %v", n, err, dst)
		}
		want := int64(87)
		for n, err := range s.All(t.Context()) {
			if n != want || err != nil {
				safetytest.Unless(t, err).Errorf("All gave %d, %v; want %d", n, err, want)
			}
			if want++; want > 120 {
				break
			}
		}
		synctest.Wait()
		if n, err := s.TryNext(); n != 121 || err != nil {
			safetytest.Unless(t, err).Errorf("TryNext = %d, %v", n, err)
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
			store, s := steps(t, 1000)
			for range 100_000 / run {
				if n, err := s.Fill(t.Context(), make([]int64, run)); n != run || err != nil {
					safetytest.Unless(t, err).Fatal(n, err)
				}
			}
			synctest.Wait()
			if calls := store.Calls("take"); calls > 102 {
				t.Errorf("by %d: 100,000 numbers took %d ranges of 1000", run, calls)
			}
		})
	}
}

// TestMark: a refill begins after a tenth of the first segment, also if one run jumps over it.
func TestMark(t *testing.T) {
	for name, over := range map[string]func(t *testing.T, s *segment.Sequence){
		"Next": func(t *testing.T, s *segment.Sequence) { wantNext(t, s, 100, 109) },
		"Fill": func(t *testing.T, s *segment.Sequence) {
			_, _ = s.Fill(t.Context(), make([]int64, 10))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(1000)
			s := sequence(t, store, segment.Config{})
			wantNext(t, s, 1, 99)
			synctest.Wait()
			before := store.Calls("take")
			over(t, s)
			synctest.Wait()
			if calls := store.Calls("take"); before != 1 || calls != 2 {
				t.Errorf("%s: %d ranges before the mark, %d after it", name, before, calls)
			}
			if h := s.Health(); h.Next.First != 1001 || h.Left != 1000-109+h.Next.Len() {
				t.Errorf("%s: Health: %+v", name, h)
			}
		})
	}
}

// TestConcurrent: 64 goroutines get each number once, and each of them rising ones.
func TestConcurrent(t *testing.T) {
	const workers, each = 64, 2000
	s := sequence(t, fake(100), segment.Config{MaxStep: 300})
	var seen ledger
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			var last int64
			for left := each; left > 0; {
				var err error
				dst := make([]int64, min(1+w%2*(w*7%150), left))
				if len(dst) == 1 {
					dst[0], err = s.Next()
				} else {
					_, err = s.Fill(t.Context(), dst)
				}
				left -= len(dst)
				for _, n := range dst {
					if err != nil || n <= last || n > workers*each {
						safetytest.Unless(t, err).Errorf("after %d of %d numbers in all came %d, %v", last,
							workers*each, n, err)
						return
					}
					last = n
					seen.note(t, n)
				}
			}
		})
	}
	running.Wait()
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
			_, err := s.Next()
			wantErr(t, "Next after the last number", err, segment.ErrExhausted)
		}
		_, err := s.Fill(t.Context(), make([]int64, 1000))
		wantErr(t, "Fill", err, segment.ErrExhausted)
	})
}

// TestInvalid: what cannot be is refused.
func TestInvalid(t *testing.T) {
	for _, c := range []segment.Config{
		{Step: -1},
		{MaxStep: -1},
		{Step: 5, MaxStep: 4},
		{Step: segment.MaxStep + 1},
		{MaxStep: segment.MaxStep + 1},
		{Hold: time.Millisecond},
		{Hold: -1},
		{RefillTimeout: 1},
		{MaxAge: -1},
		{MaxAge: time.Minute},
		{CreatePerMinute: -1},
	} {
		_, err := segment.New(t.Context(), fake(1), "t", c)
		wantErr(t, "New", err, segment.ErrInvalidConfig)
		_, err = segment.NewSet(t.Context(), fake(1), c)
		wantErr(t, "NewSet", err, segment.ErrInvalidConfig)
		if t.Failed() {
			t.Fatalf("with %+v", c)
		}
	}
	_, err := segment.New(t.Context(), nil, "t", segment.Config{})
	wantErr(t, "no store", err, segment.ErrInvalidConfig)
	_, err = segment.New(t.Context(), fake(1), " t", segment.Config{})
	wantErr(t, "a bad tag", err, segment.ErrInvalidConfig)
	_, err = segment.New(within(t), fake(1), "other", segment.Config{})
	wantErr(t, "an unknown tag", err, segment.ErrUnknownTag)
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

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// set returns the set of all tags of a store, which is closed with the test.
func set(tb testing.TB, store segment.Store) *segment.Set {
	tb.Helper()
	s, err := segment.NewSet(within(tb), store, segment.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// TestSet: all tags of a store, each with numbers of its own.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := segmenttest.NewFake()
		const tags = 1000
		for i := range tags {
			if err := store.Create(t.Context(), segment.Tag{Name: fmt.Sprintf("tag%04d", i), Next: int64(i), Step: 10}); err != nil {
				t.Fatal(err)
			}
		}
		s := set(t, store)
		if calls := store.Calls("take"); calls != 0 {
			t.Errorf("%d ranges were taken before anybody asked", calls)
		}
		for n := range 5 {
			for i, tag := range s.Tags() {
				if got, err := s.Next(t.Context(), tag); got != int64(i+n) || err != nil {
					t.Fatalf("%s: %d, %v", tag, got, err)
				}
			}
		}
		dst := make([]int64, 3)
		if n, err := s.Fill(t.Context(), "tag0007", dst); n != 3 || err != nil || !slices.Equal(dst, []int64{12, 13, 14}) {
			t.Errorf("Fill = %v, %d, %v", dst, n, err)
		}
		if h := s.Health(); len(h) != tags || h[7].Tag != "tag0007" || h[7].Issued != 8 {
			t.Errorf("Health has %d: %+v", len(h), h[7])
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Next(t.Context(), "tag0007"); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
		all, err := store.Tags(t.Context())
		if err != nil || all[7].Next != 15 || all[8].Next != 13 {
			t.Errorf("after Close the store goes on with %v, %v", all[7:9], err)
		}
	})
}

// TestNewTag: a tag that was made a moment ago works at once, and unknown ones cost one reading of the list
// a second, however many there are.
func TestNewTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store)
		time.Sleep(10 * time.Second)
		if err := store.Create(t.Context(), segment.Tag{Name: "new", Next: 7, Step: 10}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if n, err := s.Next(t.Context(), "new"); n != 7 || err != nil || time.Since(began) != 0 {
			t.Errorf("Next = %d, %v after %v", n, err, time.Since(began))
		}
		read := store.Calls("tags")
		var running sync.WaitGroup
		for i := range 500 {
			running.Go(func() {
				for n := range 10 {
					if _, err := s.Next(t.Context(), fmt.Sprint("unknown", i, n)); !errors.Is(err, segment.ErrUnknownTag) {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
		if calls, most := store.Calls("tags")-read, int(time.Since(began).Seconds())+1; calls > most || calls > 12 {
			t.Errorf("5000 calls with unknown tags read the list %d times in %v", calls, time.Since(began))
		}
		if _, err := s.Next(t.Context(), "bad\n"); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("Next of what is no tag: %v", err)
		}
	})
}

// TestDeletedTag: the numbers of a tag that was deleted end within a minute, and do not begin again below
// where they were when somebody makes it again.
func TestDeletedTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store)
		for want := int64(1); want <= 3; want++ {
			if n, err := s.Next(t.Context(), "t"); n != want || err != nil {
				t.Fatal(n, err)
			}
		}
		q, err := s.Sequence(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		top := q.Health().Next.Last
		store.Delete("t")
		time.Sleep(61 * time.Second)
		if _, err := s.Next(t.Context(), "t"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next: %v", err)
		}
		if _, err := q.Next(); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next of its sequence: %v", err)
		}
		if err := store.Create(t.Context(), segment.Tag{Name: "t", Next: 2, Step: 10}); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Next(t.Context(), "t"); !errors.Is(err, segment.ErrWentBack) {
			t.Errorf("Next of a tag that begins anew: %d, %v", n, err)
		}
		if err := store.Advance(t.Context(), "t", top+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if n, err := s.Next(t.Context(), "t"); n != top+1 || err != nil {
			t.Errorf("Next = %d, %v; want %d", n, err, top+1)
		}
	})
}

// TestListFails: while the list cannot be read, tags that are known work.
func TestListFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store)
		store.Intercept(func(_ context.Context, op, _ string, do func() error) error {
			if op == "tags" {
				return errDown
			}
			return do()
		})
		time.Sleep(10 * time.Minute)
		if n, err := s.Next(t.Context(), "t"); n != 1 || err != nil {
			t.Error(n, err)
		}
		if _, err := s.Next(t.Context(), "other"); !errors.Is(err, segment.ErrUnavailable) || !errors.Is(err, errDown) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Next(ctx, "other"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := segment.NewSet(t.Context(), store, segment.Config{}); !errors.Is(err, errDown) {
			t.Error(err)
		}
	})
}

// TestStepOfTheList: a step that somebody sets is that of later segments, without a restart.
func TestStepOfTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store)
		if _, err := s.Fill(t.Context(), "t", make([]int64, 100)); err != nil {
			t.Fatal(err)
		}
		if err := store.SetStep(t.Context(), "t", 5_000_000); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := s.Fill(t.Context(), "t", make([]int64, 1_500_000)); err != nil {
			t.Fatal(err)
		}
		if h := s.Health()[0]; h.Step != 5_000_000 {
			t.Errorf("Health: %+v", h)
		}
	})
}

// TestCheck: a store that is away is noticed within a minute and a few seconds though nobody asks for numbers, and its
// return within seconds. Numbers in memory, and tags that were deleted, are no reason for an error.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 10}, segment.Tag{Name: "unused", Next: 1, Step: 10})
		s := set(t, store)
		if err := s.Check(); err != nil {
			t.Error("at the start:", err)
		}
		store.Intercept(func(context.Context, string, string, func() error) error { return errDown })
		time.Sleep(65 * time.Second)
		if err := s.Check(); !errors.Is(err, segment.ErrUnavailable) || !errors.Is(err, errDown) {
			t.Error("without the store:", err)
		}
		store.Intercept(nil)
		time.Sleep(6 * time.Second)
		if err := s.Check(); err != nil {
			t.Error("with the store:", err)
		}
		if _, err := s.Next(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		store.Intercept(func(context.Context, string, string, func() error) error { return errDown })
		time.Sleep(2 * time.Minute)
		if err := s.Check(); err != nil {
			t.Error("with numbers in memory:", err)
		}
		store.Intercept(nil)
		store.Delete("t")
		store.Delete("unused")
		time.Sleep(2 * time.Minute)
		if err := s.Check(); err != nil {
			t.Error("without tags:", err)
		}
		if err := s.Close(context.Background()); err != nil || !errors.Is(s.Check(), segment.ErrClosed) {
			t.Errorf("after Close (%v): %v", err, s.Check())
		}
	})
}

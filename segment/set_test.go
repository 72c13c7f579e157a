package segment_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// set returns the set of all tags of a store, which is closed with the test.
func set(tb testing.TB, store segment.Store, c segment.Config) *segment.Set {
	tb.Helper()
	s, err := segment.NewSet(within(tb), store, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// TestSet: all tags of a store, each with numbers of its own.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []segment.Tag
		for i := range int64(1000) {
			all = append(all, segment.Tag{Name: fmt.Sprintf("tag%04d", i), Next: i, Step: 10})
		}
		store := segmenttest.NewFake(all...)
		s := set(t, store, segment.Config{})
		if calls := store.Calls("take"); calls != 0 {
			t.Errorf("%d ranges were taken before anybody asked", calls)
		}
		for n := range 5 {
			for i, tag := range s.Tags() {
				if got, err := s.Next(t.Context(), tag); got != int64(i+n) || err != nil {
					safetytest.Unless(t, err).Fatalf("%s: %d, %v", tag, got, err)
				}
			}
		}
		dst := make([]int64, 3)
		if _, err := s.Fill(t.Context(), "tag0007", dst); !slices.Equal(dst, []int64{12, 13, 14}) {
			safetytest.Of(t).Errorf("Fill = %v, %v", dst, err)
		}
		if h := s.Health(); len(h) != len(all) || h[7].Tag != "tag0007" || h[7].Issued != 8 {
			t.Errorf("Health has %d: %+v", len(h), h[7])
		}
		wantErr(t, "Close", s.Close(t.Context()), nil)
		_, err := s.Next(t.Context(), "tag0007")
		wantErr(t, "Next after Close", err, segment.ErrClosed)
		all, err = store.Tags(t.Context())
		if err != nil || all[7].Next != 15 || all[8].Next != 13 {
			safetytest.Unless(t, err).Errorf("after Close the store goes on with %v, %v", all[7:9], err)
		}
	})
}

// TestNewTag: a tag that was made a moment ago works at once, and unknown ones cost one reading of
// the list a second, however many there are.
func TestNewTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store, segment.Config{})
		time.Sleep(10 * time.Second)
		wantErr(t, "Create", store.Create(t.Context(), segment.Tag{Name: "new", Next: 7, Step: 10}), nil)
		began := time.Now()
		if n, err := s.Next(t.Context(), "new"); n != 7 || err != nil || time.Since(began) != 0 {
			t.Errorf("Next = %d, %v after %v", n, err, time.Since(began))
		}
		read := store.Calls("tags")
		var running sync.WaitGroup
		for i := range 500 {
			running.Go(func() {
				for n := range 10 {
					_, err := s.Next(t.Context(), fmt.Sprint("unknown", i, n))
					wantErr(t, "Next", err, segment.ErrUnknownTag)
				}
			})
		}
		running.Wait()
		took := time.Since(began)
		if calls := store.Calls("tags") - read; calls > min(int(took.Seconds())+1, 12) {
			t.Errorf("5000 calls with unknown tags read the list %d times in %v", calls, took)
		}
		_, err := s.Next(t.Context(), "bad\n")
		wantErr(t, "Next of what is no tag", err, segment.ErrInvalidConfig)
	})
}

// TestDeletedTag: the numbers of a tag that was deleted end within a minute, and do not begin again
// below where they were when somebody makes it again.
func TestDeletedTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store, segment.Config{})
		q, err := s.Sequence(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		wantNext(t, q, 1, 3)
		synctest.Wait()
		top := q.Health().Next.Last
		store.Delete("t")
		time.Sleep(61 * time.Second)
		_, err = s.Next(t.Context(), "t")
		wantErr(t, "Next", err, segment.ErrUnknownTag)
		_, err = q.Next()
		wantErr(t, "Next of its sequence", err, segment.ErrUnknownTag)
		wantErr(t, "Create", store.Create(t.Context(), segment.Tag{Name: "t", Next: 2, Step: 10}), nil)
		_, err = s.Next(t.Context(), "t")
		wantErr(t, "Next of a tag that begins anew", err, segment.ErrWentBack)
		store.Set("t", top+1)
		time.Sleep(3 * time.Second)
		if n, err := s.Next(t.Context(), "t"); n != top+1 || err != nil {
			safetytest.Unless(t, err).Errorf("Next = %d, %v; want %d", n, err, top+1)
		}
	})
}

// TestListFails: while the list cannot be read, tags that are known work.
func TestListFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s := set(t, store, segment.Config{})
		store.Intercept(only("tags", down))
		time.Sleep(10 * time.Minute)
		if n, err := s.Next(t.Context(), "t"); n != 1 || err != nil {
			t.Error(n, err)
		}
		_, err := s.Next(t.Context(), "other")
		wantErr(t, "an unknown tag", err, segment.ErrUnavailable)
		wantErr(t, "an unknown tag", err, errDown)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Next(ctx, "other")
		wantErr(t, "who does not wait", err, context.Canceled)
		_, err = segment.NewSet(t.Context(), store, segment.Config{})
		wantErr(t, "NewSet", err, errDown)
	})
}

// TestCheck: a store that is away is noticed within a minute and a few seconds though nobody asks
// for numbers, and its return within seconds. Numbers in memory, and tags that were deleted, are no
// reason for an error.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 10},
			segment.Tag{Name: "unused", Next: 1, Step: 10})
		s := set(t, store, segment.Config{})
		for _, c := range []struct {
			when string
			do   func()
			wait time.Duration
			want error
		}{
			{"at the start", func() {}, 0, nil},
			{"without the store", func() { store.Intercept(down) }, 65 * time.Second, errDown},
			{"with the store", func() { store.Intercept(nil) }, 6 * time.Second, nil},
			{"with numbers in memory", func() {
				if _, err := s.Next(t.Context(), "t"); err != nil {
					t.Error(err)
				}
				store.Intercept(down)
			}, 2 * time.Minute, nil},
			{"without tags", func() {
				store.Intercept(nil)
				store.Delete("t")
				store.Delete("unused")
			}, 2 * time.Minute, nil},
			{"after Close", func() { _ = s.Close(t.Context()) }, 0, segment.ErrClosed},
		} {
			c.do()
			time.Sleep(c.wait)
			wantErr(t, c.when, s.Check(), c.want)
		}
	})
}

// TestSet_CheckReportsStoreThatRefusesAllTags: it does so until the store gives numbers again,
// though no caller asks for any.
func TestSet_CheckReportsStoreThatRefusesAllTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := segmenttest.NewFake(segment.Tag{Name: "a", Next: 1, Step: 10},
			segment.Tag{Name: "b", Next: 1, Step: 10})
		s := set(t, store, segment.Config{})
		refuse := func(context.Context, string, string, func() error) error {
			return segment.ErrInvalidConfig
		}
		store.Intercept(only("take", refuse))
		_, err := s.Next(t.Context(), "a")
		wantErr(t, "a tag", err, segment.ErrInvalidConfig)
		wantErr(t, "Check with another tag", s.Check(), nil)
		_, err = s.Next(t.Context(), "b")
		wantErr(t, "the other tag", err, segment.ErrInvalidConfig)
		wantErr(t, "Check", s.Check(), segment.ErrInvalidConfig)
		store.Intercept(nil)
		time.Sleep(3 * time.Second)
		wantErr(t, "Check afterwards", s.Check(), nil)
	})
}

// TestSet_GroupsAreNoTags: a set lists tags, and not their groups.
func TestSet_GroupsAreNoTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := []segment.Tag{{Name: "orders"}, {Name: "single.2026"}}
		for i := range 1000 {
			first := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
			all = append(all, segment.Tag{Name: first.Format("orders.2006-01-02")})
		}
		for i := range all {
			all[i].Next, all[i].Step = 1, 10
		}
		s := set(t, segmenttest.NewFake(all...), segment.Config{CreatePerMinute: 10})
		if tags := s.Tags(); !slices.Equal(tags, []string{"orders", "single.2026"}) {
			t.Errorf("the tags are %q", tags)
		}
		_, err := s.Next(t.Context(), "orders.2020-01-01")
		wantErr(t, "Next of a group", err, segment.ErrUnknownTag)
	})
}

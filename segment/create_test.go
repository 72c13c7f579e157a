package segment_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// TestCreated: a set that may makes the tags that it is asked for, so many a minute, and none
// otherwise.
func TestCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		s, err := segment.NewSet(t.Context(), store, segment.Config{CreatePerMinute: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context())
		for minute := range 3 {
			made := 0
			for i := range 10 {
				n, err := s.Next(t.Context(), fmt.Sprintf("new%d-%d", minute, i))
				switch {
				case err == nil && n == 1:
					made++
				case !errors.Is(err, segment.ErrUnknownTag):
					t.Errorf("Next = %d, %v", n, err)
				}
			}
			if made != 3 {
				t.Errorf("%d tags were made in a minute", made)
			}
			time.Sleep(time.Minute)
		}
		if tag, err := store.Tag(t.Context(), "new0-0"); tag.Step != segment.DefaultStep || err != nil {
			t.Errorf("%+v, %v", tag, err)
		}
		if _, err := s.Next(t.Context(), " bad "); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("a bad tag: %v", err)
		}
		if n, err := set(t, store).Next(t.Context(), "other"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("without CreatePerMinute: %d, %v", n, err)
		}
		var d down
		d.Store(true)
		store.Intercept(func(ctx context.Context, op, tag string, do func() error) error {
			if op == "create" {
				return d.between(ctx, op, tag, do)
			}
			return do()
		})
		if n, err := s.Next(t.Context(), "away"); !errors.Is(err, segment.ErrUnavailable) {
			t.Errorf("from a store that makes none now: %d, %v", n, err)
		}
	})
	for _, c := range []segment.Config{{CreatePerMinute: -1}, {CreatePerMinute: 1}} {
		if _, err := segment.NewSet(within(t), struct{ segment.Store }{fake(1)}, c); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%d: %v", c.CreatePerMinute, err)
		}
	}
}

// TestCreatedTogether: many who ask for one new tag at once make one, and others can be made.
func TestCreatedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(func(_ context.Context, _, _ string, do func() error) error {
			time.Sleep(10 * time.Millisecond)
			return do()
		})
		s, err := segment.NewSet(t.Context(), store, segment.Config{CreatePerMinute: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context())
		for _, tag := range []string{"one", "two"} {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if n, err := s.Next(t.Context(), tag); err != nil {
						t.Errorf("tag %s: %d, %v", tag, n, err)
					}
				})
			}
			all.Wait()
		}
	})
}

package segment_test

import (
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
		s := set(t, store, segment.Config{CreatePerMinute: 3})
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
		_, err := set(t, store, segment.Config{}).Next(t.Context(), "other")
		wantErr(t, "without CreatePerMinute", err, segment.ErrUnknownTag)
		store.Intercept(only("create", down))
		_, err = s.Next(t.Context(), "away")
		wantErr(t, "from a store that makes none now", err, segment.ErrUnavailable)
	})
	none := struct{ segment.Store }{fake(1)}
	_, err := segment.NewSet(within(t), none, segment.Config{CreatePerMinute: 1})
	wantErr(t, "a store that makes no tags", err, segment.ErrInvalidConfig)
}

// TestCreatedTogether: many who ask for one new tag at once make one, and others can be made.
func TestCreatedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(slow(10 * time.Millisecond))
		s := set(t, store, segment.Config{CreatePerMinute: 2})
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

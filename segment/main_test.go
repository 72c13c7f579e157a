package segment_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fake returns a store with the tag t, which begins at 1.
func fake(step int64) *segmenttest.Fake {
	return segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: step})
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// sequence returns a sequence of the tag t that is closed with the test.
func sequence(tb testing.TB, store segment.Store, c segment.Config) *segment.Sequence {
	tb.Helper()
	s, err := segment.New(within(tb), store, "t", c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// wantNext takes numbers that are to be those from first to last.
func wantNext(tb testing.TB, s *segment.Sequence, first, last int64) {
	tb.Helper()
	for want := first; want <= last; want++ {
		if n, err := s.Next(); n != want || err != nil {
			tb.Fatalf("Next = %d, %v; want %d", n, err, want)
		}
	}
}

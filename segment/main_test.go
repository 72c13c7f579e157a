package segment_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
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

// steps returns a store, and a sequence whose segments all have as many numbers.
func steps(tb testing.TB, step int64) (*segmenttest.Fake, *segment.Sequence) {
	tb.Helper()
	store := fake(step)
	return store, sequence(tb, store, segment.Config{MaxStep: step})
}

// wantNext takes numbers that are to be those from first to last.
func wantNext(tb testing.TB, s *segment.Sequence, first, last int64) {
	tb.Helper()
	for want := first; want <= last; want++ {
		if n, err := s.Next(); n != want || err != nil {
			safetytest.Unless(tb, err).Fatalf("Next = %d, %v; want %d", n, err, want)
		}
	}
}

// wantStored checks where the store goes on with the tag t.
func wantStored(tb testing.TB, store segment.Store, next int64) {
	tb.Helper()
	if r, err := store.Tag(within(tb), "t"); r.Next != next || err != nil {
		safetytest.Unless(tb, err).Errorf("the store goes on with %d, %v; want %d", r.Next, err, next)
	}
}

// wantErr checks what an error wraps.
func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: %v; want %v", what, err, want)
	}
}

// use takes numbers at a rate for a time.
func use(tb testing.TB, next func() (int64, error), pause, lasts time.Duration) {
	tb.Helper()
	for began := time.Now(); time.Since(began) < lasts; time.Sleep(pause) {
		if _, err := next(); err != nil {
			tb.Errorf("after %v: %v", time.Since(began), err)
			return
		}
	}
}

// ledger is what was given out. It is safe for concurrent use.
type ledger struct{ sync.Map }

func (l *ledger) note(tb testing.TB, number any) {
	if _, twice := l.LoadOrStore(number, true); twice {
		safetytest.Of(tb).Errorf("%v was given out twice", number)
	}
}

// slow has each call take a time.
func slow(d time.Duration) segmenttest.Between {
	return func(ctx context.Context, _, _ string, do func() error) error {
		select {
		case <-time.After(d):
			return do()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errDown = errors.New("connection refused")

// down has each call fail.
func down(context.Context, string, string, func() error) error { return errDown }

// only has calls of one operation go another way.
func only(which string, b segmenttest.Between) segmenttest.Between {
	return func(ctx context.Context, op, tag string, do func() error) error {
		if op == which {
			return b(ctx, op, tag, do)
		}
		return do()
	}
}

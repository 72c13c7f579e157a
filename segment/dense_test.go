package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// hang is a store that is gone: calls end with their contexts.
func hang(ctx context.Context, _, _ string, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// lostReply executes calls, whose replies never come.
func lostReply(ctx context.Context, op, tag string, do func() error) error {
	return errors.Join(do(), hang(ctx, op, tag, nil))
}

// TestSequence_KilledProcessLeavesOutFewNumbers: of a tag with step 1, of which a number is taken
// every three minutes, a process that is killed leaves out ten numbers at most; and after a single
// call, whenever that was, the next segment has ten.
func TestSequence_KilledProcessLeavesOutFewNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers int64
		pause   time.Duration
	}{{1, 0}, {1, time.Second}, {1, time.Hour}, {10, 3 * time.Minute}, {1000, 3 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(1)
			s := sequence(t, store, segment.Config{})
			for n := range c.numbers {
				time.Sleep(c.pause)
				wantNext(t, s, n+1, n+1)
				synctest.Wait()
			}
			tag, err := store.Tag(t.Context(), "t")
			if left := tag.Next - 1 - c.numbers; left > 10 || err != nil {
				t.Errorf("%+v: it holds %d numbers, %v", c, left, err)
			}
		})
	}
}

// TestSequence_UnknownOutcomesCostOwnSteps: while the replies of a store are lost for 18 s, each
// attempt asks for the tag's own step, however large segments were before.
func TestSequence_UnknownOutcomesCostOwnSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step = 100
		store := fake(step)
		s := sequence(t, store, segment.Config{Logger: slog.New(slog.DiscardHandler)})
		use(t, s.Next, time.Millisecond, 10*time.Second)
		synctest.Wait()
		if _, err := s.Fill(t.Context(), make([]int64, s.Health().Left-1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before, err := store.Tag(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		store.Intercept(lostReply)
		if _, err := s.Fill(t.Context(), make([]int64, s.Health().Left)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		first := s.Health().Step // it is asked for before an outcome is unknown
		time.Sleep(18 * time.Second)
		store.Intercept(nil)
		after, err := store.Tag(t.Context(), "t")
		if lost := after.Next - before.Next - first; lost > 20*step || lost < step || err != nil {
			t.Errorf("%d numbers were lost beside the first %d, %v", lost, first, err)
		}
		time.Sleep(2 * time.Second)
		if n, err := s.Next(); n < after.Next || err != nil {
			safetytest.Unless(t, err).Errorf("Next = %d, %v; want at least %d", n, err, after.Next)
		}
	})
}

// TestSequence_OnDemandNothingIsTakenAhead: with a MaxStep of 1 each number is taken for a call, so
// that the numbers of two processes rise in the order of their calls.
func TestSequence_OnDemandNothingIsTakenAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(1000)
		one := segment.Config{MaxStep: 1}
		both := [2]*segment.Sequence{sequence(t, store, one), sequence(t, store, one)}
		for i, who := range []int{0, 1, 1, 1, 1, 0, 1, 0} {
			wantNext(t, both[who], int64(i+1), int64(i+1))
			synctest.Wait()
			wantStored(t, store, int64(i+2))
			time.Sleep(time.Minute)
		}
		if takes, looks := store.Calls("take"), store.Calls("tag"); takes != 8 || looks > 20 {
			t.Errorf("for 8 numbers there were %d calls that take, and %d that look", takes, looks)
		}
		if h := both[0].Health(); !h.Healthy || h.Left != 0 {
			t.Errorf("Health: %+v", h)
		}
		_, err := both[0].TryNext()
		wantErr(t, "TryNext", err, segment.ErrUnavailable)
		synctest.Wait()
		wantStored(t, store, 9)
		dst := make([]int64, 5)
		if _, err := both[1].Fill(t.Context(), dst); dst[0] != 9 || dst[4] != 13 || err != nil {
			safetytest.Unless(t, err).Errorf("Fill: %v, %v", dst, err)
		}
		var all sync.WaitGroup
		var seen ledger
		store.Intercept(slow(10 * time.Millisecond))
		for range 20 {
			all.Go(func() {
				n, err := both[0].Next()
				if err != nil {
					t.Error(err)
				}
				seen.note(t, n)
			})
		}
		all.Wait()
		wantStored(t, store, 34)
	})
}

// TestSequence_NumberOfACallerWhoGivesUp: with a MaxStep of 1 it goes back to the store, once, if
// no other one was taken since, and is left out otherwise, and where it is not known.
func TestSequence_NumberOfACallerWhoGivesUp(t *testing.T) {
	for _, c := range []struct {
		what    string
		take    segmenttest.Between
		another bool // a program takes a number meanwhile
		next    int64
		backs   int
	}{
		{"the last one", slow(time.Second), false, 1, 1},
		{"an earlier one", func(ctx context.Context, op, tag string, do func() error) error {
			err := do()
			return errors.Join(err, slow(time.Second)(ctx, op, tag, func() error { return nil }))
		}, true, 3, 1},
		{"an unknown one", lostReply, false, 2, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(1)
			s := sequence(t, store, segment.Config{MaxStep: 1})
			other := sequence(t, store, segment.Config{MaxStep: 1})
			store.Intercept(only("take", c.take))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := s.NextContext(ctx)
			wantErr(t, c.what, err, context.DeadlineExceeded)
			store.Intercept(nil)
			if c.another {
				wantNext(t, other, 2, 2)
			}
			time.Sleep(time.Minute)
			if n := store.Calls("give back"); n != c.backs {
				safetytest.Of(t).Errorf("%s was given back %d times", c.what, n)
			}
			if h := s.Health(); !h.Healthy {
				t.Errorf("%s: a minute later: %+v", c.what, h)
			}
			wantStored(t, store, c.next)
			wantNext(t, s, c.next, c.next)
		})
	}
}

// TestClose_StoreIsGone: Close returns soon though the store never answers again and its context
// has no end, of a sequence, of a thousand in a set, and of groups.
func TestClose_StoreIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := segment.Config{Logger: slog.New(slog.DiscardHandler)}
		store := fake(10)
		one, grouped := sequence(t, store, quiet), groups(t, store, segment.Daily, nil)
		wantNext(t, one, 1, 1)
		wantGroup(t, grouped, "2000-01-01", 1)
		time.Sleep(24*time.Hour - time.Minute)
		many := set(t, store, segment.Config{CreatePerMinute: 1000, Logger: quiet.Logger})
		for i := range 1000 {
			if _, err := many.Next(t.Context(), fmt.Sprint("tag", i)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		store.Intercept(hang)
		time.Sleep(time.Hour)
		going := make(chan struct{})
		go func() {
			_, _, _ = grouped.Next(context.Background()) // it waits for the group of the next day
			close(going)
		}()
		synctest.Wait()
		for what, end := range map[string]func(context.Context) error{
			"a sequence": one.Close, "groups": grouped.Close, "a set": many.Close,
		} {
			began := time.Now()
			err := end(context.Background())
			if took := time.Since(began); took > 2*segment.DefaultRefillTimeout {
				t.Errorf("Close of %s took %v: %v", what, took, err)
			}
		}
		<-going
		began := time.Now()
		_, err := segment.NewSet(context.Background(), store, quiet)
		if wantErr(t, "NewSet", err, context.DeadlineExceeded); time.Since(began) > 3*time.Second {
			t.Errorf("NewSet took %v", time.Since(began))
		}
	})
}

package segmenttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// checkTake: ranges follow each other, and a step of 0 is the tag's own.
func checkTake(tb testing.TB, open Open) {
	s, tag := made(tb, open, 5, 10)
	wantTake(tb, s, tag, 0, 5, 14)
	wantTake(tb, s, tag, 3, 15, 17)
	wantTake(tb, opened(tb, open), tag, 1, 18, 18)
	wantTake(tb, s, tag, 100_000, 19, 100_018)
}

// checkConcurrent: nobody gets what somebody else got, and nothing is left out.
func checkConcurrent(tb testing.TB, open Open) {
	const workers, takes = 8, 25
	_, tag := made(tb, open, 1, 3)
	var mu sync.Mutex
	var all []segment.Range
	var running sync.WaitGroup
	for i := range workers {
		s := opened(tb, open)
		running.Go(func() {
			for n := range takes {
				r, err := s.Take(within(tb), tag, int64((i+n)%5))
				if err != nil {
					tb.Errorf("Take: %v", err)
					return
				}
				mu.Lock()
				all = append(all, r)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	slices.SortFunc(all, func(a, b segment.Range) int { return cmp.Compare(a.First, b.First) })
	next := int64(1)
	for _, r := range all {
		if r.First != next {
			tb.Fatalf("after %d comes the range %v", next-1, r)
		}
		next = r.Last + 1
	}
}

// checkUnknown: a tag that is not there is not made.
func checkUnknown(tb testing.TB, open Open) {
	s, tag := opened(tb, open), rand.Text()
	wantAll(within(tb), tb, s, tag, segment.ErrUnknownTag)
	wantErr(tb, "SetStep", s.SetStep(within(tb), tag, 5), segment.ErrUnknownTag)
	if done, _ := s.GiveBack(within(tb), tag, segment.Range{First: 1, Last: 5}); done {
		tb.Error("GiveBack to a tag that is not there was done")
	}
}

// checkGiveBackLate: what somebody has taken a range after is not handed out again.
func checkGiveBackLate(tb testing.TB, open Open) {
	s, tag := made(tb, open, 1, 10)
	wantTake(tb, s, tag, 10, 1, 10)
	wantTake(tb, opened(tb, open), tag, 10, 11, 20)
	wantBack(tb, s, tag, 4, 10, false)
	wantTake(tb, s, tag, 10, 21, 30)
}

// checkGiveBack: what is given back is handed out again, and cannot be given back twice.
func checkGiveBack(tb testing.TB, open Open) {
	s, tag := made(tb, open, 1, 10)
	wantTake(tb, s, tag, 10, 1, 10)
	wantBack(tb, s, tag, 4, 10, true)
	wantBack(tb, s, tag, 4, 10, false)
	wantTake(tb, opened(tb, open), tag, 10, 4, 13)
}

// wantBack gives back the numbers from first to last, which is done or not.
func wantBack(tb testing.TB, s segment.Store, tag string, first, last int64, want bool) {
	tb.Helper()
	done, err := s.GiveBack(within(tb), tag, segment.Range{First: first, Last: last})
	if done != want || err != nil {
		tb.Errorf("GiveBack of %d to %d: %v, %v; want %v", first, last, done, err, want)
	}
}

// checkAdvance: numbers go up only.
func checkAdvance(tb testing.TB, open Open) {
	s, tag := made(tb, open, 100, 10)
	for _, to := range []int64{99, 0} {
		wantErr(tb, "Advance down", s.Advance(within(tb), tag, to), segment.ErrInvalidConfig)
	}
	wantTake(tb, s, tag, 10, 100, 109)
	for _, to := range []int64{110, 5000} { // the first is where it is
		if err := s.Advance(within(tb), tag, to); err != nil {
			tb.Errorf("Advance to %d: %v", to, err)
		}
	}
	wantTake(tb, opened(tb, open), tag, 10, 5000, 5009)
}

// checkTags: all tags are listed, in order.
func checkTags(tb testing.TB, open Open) {
	s, tag := made(tb, open, 7, 10)
	_, other := made(tb, open, 8, 20)
	wantTake(tb, s, tag, 0, 7, 16)
	all, err := s.Tags(within(tb))
	if err != nil {
		tb.Fatalf("Tags: %v", err)
	}
	if !slices.IsSortedFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) }) {
		tb.Errorf("Tags are not in the order of their names: %v", all)
	}
	listed := map[string]segment.Tag{}
	for _, t := range all {
		listed[t.Name] = t
	}
	for name, want := range map[string]segment.Tag{
		tag: {Next: 17, Step: 10}, other: {Next: 8, Step: 20},
	} {
		want.Name, want.Description = name, "made by a test"
		got, err := s.Tag(within(tb), name)
		if err != nil {
			tb.Errorf("Tag: %v", err)
		}
		got.Description = want.Description // Tag may not know it
		for _, t := range []segment.Tag{got, listed[name]} {
			if t.Updated = want.Updated; t != want {
				tb.Errorf("of %q there is %+v; want %+v", name, t, want)
			}
		}
	}
}

// checkCreateTwice: a tag that is there stays as it is.
func checkCreateTwice(tb testing.TB, open Open) {
	s, tag := made(tb, open, 50, 10)
	wantErr(tb, "Create", s.Create(within(tb), segment.Tag{Name: tag, Next: 1, Step: 5}),
		segment.ErrTagExists)
	wantTake(tb, s, tag, 0, 50, 59)
}

// checkSetStep: the step is that of the next range.
func checkSetStep(tb testing.TB, open Open) {
	s, tag := made(tb, open, 1, 10)
	if err := s.SetStep(within(tb), tag, 25); err != nil {
		tb.Errorf("SetStep: %v", err)
	}
	wantTake(tb, opened(tb, open), tag, 0, 1, 25)
}

// checkExhausted: the last number is handed out, and no number wraps. The largest number of all is
// the next one after the last.
func checkExhausted(tb testing.TB, open Open) {
	const last = math.MaxInt64 - 1
	s, tag := made(tb, open, last-25, 10)
	wantTake(tb, s, tag, 10, last-25, last-16)
	wantTake(tb, s, tag, 0, last-15, last-6)
	wantTake(tb, s, tag, 10, last-5, last)
	for _, step := range []int64{0, 1, 10} {
		r, err := s.Take(within(tb), tag, step)
		if wantErr(tb, "Take at the end", err, segment.ErrExhausted); err == nil {
			tb.Errorf("it gave %v", r)
		}
	}
	wantBack(tb, s, tag, last, last, true)
	wantTake(tb, s, tag, 0, last, last)
}

// checkApart: tags do not touch each other, whatever they are called.
func checkApart(tb testing.TB, open Open) {
	s := opened(tb, open)
	some := rand.Text()
	names := []string{
		some + "'\"`;--", some + `\%_`, some + "é漢字🦆", some + " a/b:c",
		some + strings.Repeat("x", segment.MaxTag-len(some)), some, some + ".", some + "/",
	}
	for i, tag := range names {
		if err := s.Create(within(tb),
			segment.Tag{Name: tag, Next: int64(1 + 1000*i), Step: 10}); err != nil {
			tb.Errorf("Create(%q): %v", tag, err)
		}
	}
	for i, tag := range names {
		wantTake(tb, s, tag, 0, int64(1+1000*i), int64(10+1000*i))
	}
}

// checkInvalid: what cannot be is refused.
func checkInvalid(tb testing.TB, open Open) {
	s, tag := made(tb, open, 1, 10)
	for _, bad := range []string{
		"", " x", "x ", "a\nb", "\xff",
		strings.Repeat("x", segment.MaxTag+1),
	} {
		_, err := s.Take(within(tb), bad, 1)
		wantErr(tb, "Take of a bad tag", err, segment.ErrInvalidConfig)
		wantErr(tb, "Create of a bad tag", s.Create(within(tb), segment.Tag{Name: bad, Next: 1, Step: 1}),
			segment.ErrInvalidConfig)
	}
	for _, step := range []int64{-1, segment.MaxStep + 1, math.MinInt64, math.MaxInt64} {
		_, err := s.Take(within(tb), tag, step)
		wantErr(tb, "Take of a bad step", err, segment.ErrInvalidConfig)
		wantErr(tb, "SetStep", s.SetStep(within(tb), tag, step), segment.ErrInvalidConfig)
	}
	wantErr(tb, "SetStep to 0", s.SetStep(within(tb), tag, 0), segment.ErrInvalidConfig)
	for _, r := range []segment.Range{{First: 5, Last: 4}, {First: 5, Last: math.MaxInt64}} {
		_, err := s.GiveBack(within(tb), tag, r)
		wantErr(tb, "GiveBack of no range", err, segment.ErrInvalidConfig)
	}
	wantTake(tb, s, tag, 0, 1, 10)
	long := strings.Repeat("单", segment.MaxTag-len(tag)) + tag // three bytes each
	if err := s.Create(within(tb), segment.Tag{Name: long, Next: 1, Step: 10}); err != nil {
		tb.Fatalf("Create of a tag of %d characters: %v", segment.MaxTag, err)
	}
	wantTake(tb, s, long, 0, 1, 10)
}

// checkCancelled: a call whose context has ended returns soon, with that as its reason.
func checkCancelled(tb testing.TB, open Open) {
	s, tag := made(tb, open, 1, 10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	wantAll(ctx, tb, s, tag, context.Canceled)
	_, err := s.Tags(ctx)
	wantErr(tb, "Tags", err, context.Canceled)
	if took := time.Since(began); took > callTime/2 {
		tb.Errorf("it took %v", took)
	}
}

// checkClosed: nothing works after Close, and Close works twice.
func checkClosed(tb testing.TB, open Open) {
	_, tag := made(tb, open, 1, 10)
	s := opened(tb, open)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		tb.Errorf("Close: %v", err)
	}
	wantAll(within(tb), tb, s, tag, segment.ErrClosed)
	_, err := s.GiveBack(within(tb), tag, segment.Range{First: 1, Last: 1})
	wantErr(tb, "GiveBack", err, segment.ErrClosed)
	_, err = s.Tags(within(tb))
	wantErr(tb, "Tags", err, segment.ErrClosed)
}

// wantAll checks what the errors of calls that name a tag wrap.
func wantAll(ctx context.Context, tb testing.TB, s segment.Store, tag string, want error) {
	tb.Helper()
	_, own := s.Take(ctx, tag, 0)
	_, take := s.Take(ctx, tag, 5)
	_, got := s.Tag(ctx, tag)
	for what, err := range map[string]error{
		"Take": own, "Take of 5": take, "Tag": got, "Advance": s.Advance(ctx, tag, 5),
	} {
		wantErr(tb, what, err, want)
	}
}

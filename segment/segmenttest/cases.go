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
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
)

// checkTake: ranges follow each other, and a step of 0 is the tag's own.
func checkTake(s store) {
	s = s.made(5, 10)
	s.wantTake(0, 5, 14)
	s.wantTake(3, 15, 17)
	s.another().wantTake(1, 18, 18)
	s.wantTake(100_000, 19, 100_018)
}

// checkConcurrent: nobody gets what somebody else got, and nothing is left out.
func checkConcurrent(s store) {
	const workers, takes = 8, 25
	s = s.made(1, 3)
	var mu sync.Mutex
	var all []segment.Range
	var running sync.WaitGroup
	for i := range workers {
		s := s.another()
		running.Go(func() {
			for n := range takes {
				r, err := s.Take(s.within(), s.tag, int64((i+n)%5))
				if err != nil {
					s.Errorf("Take: %v", err)
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
			safetytest.Of(s).Fatalf("after %d comes the range %v", next-1, r)
		}
		next = r.Last + 1
	}
}

// checkUnknown: a tag that is not there is not made.
func checkUnknown(s store) {
	s = s.another()
	s.tag = rand.Text()
	s.wantAll(s.within(), segment.ErrUnknownTag)
	s.wantErr("SetStep", s.SetStep(s.within(), s.tag, 5), segment.ErrUnknownTag)
	if done, _ := s.GiveBack(s.within(), s.tag, segment.Range{First: 1, Last: 5}); done {
		safetytest.Of(s).Error("GiveBack to a tag that is not there was done")
	}
}

// checkGiveBackLate: what somebody has taken a range after is not handed out again.
func checkGiveBackLate(s store) {
	s = s.made(1, 10)
	s.wantTake(10, 1, 10)
	s.another().wantTake(10, 11, 20)
	s.wantBack(4, 10, false)
	s.wantTake(10, 21, 30)
}

// checkGiveBack: what is given back is handed out again, and cannot be given back twice.
func checkGiveBack(s store) {
	s = s.made(1, 10)
	s.wantTake(10, 1, 10)
	s.wantBack(4, 10, true)
	s.wantBack(4, 10, false)
	s.another().wantTake(10, 4, 13)
}

// wantBack gives back the numbers from first to last, which is done or not.
func (s store) wantBack(first, last int64, want bool) {
	s.Helper()
	done, err := s.GiveBack(s.within(), s.tag, segment.Range{First: first, Last: last})
	if done != want || err != nil {
		safetytest.Unless(s, err).Errorf("GiveBack of %d to %d: %v, %v; want %v", first, last, done, err,
			want)
	}
}

// checkAdvance: numbers go up only.
func checkAdvance(s store) {
	s = s.made(100, 10)
	for _, to := range []int64{99, 0} {
		s.wantErr("Advance down", s.Advance(s.within(), s.tag, to), segment.ErrInvalidConfig)
	}
	s.wantTake(10, 100, 109)
	for _, to := range []int64{110, 5000} { // the first is where it is
		s.wantErr("Advance", s.Advance(s.within(), s.tag, to), nil)
	}
	s.another().wantTake(10, 5000, 5009)
}

// checkTags: all tags are listed, in order.
func checkTags(s store) {
	s = s.made(7, 10)
	other := s.made(8, 20).tag
	s.wantTake(0, 7, 16)
	all, err := s.Tags(s.within())
	if err != nil {
		s.Fatalf("Tags: %v", err)
	}
	if !slices.IsSortedFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) }) {
		s.Errorf("Tags are not in the order of their names: %v", all)
	}
	listed := map[string]segment.Tag{}
	for _, t := range all {
		listed[t.Name] = t
	}
	for name, want := range map[string]segment.Tag{
		s.tag: {Next: 17, Step: 10}, other: {Next: 8, Step: 20},
	} {
		want.Name, want.Description = name, "made by a test"
		got, err := s.Tag(s.within(), name)
		s.wantErr("Tag", err, nil)
		got.Description = want.Description // Tag may not know it
		for _, t := range []segment.Tag{got, listed[name]} {
			t.Updated, t.Most = want.Updated, want.Most
			if t != want {
				safetytest.Of(s).Errorf("of %q there is %+v; want %+v", name, t, want)
			}
		}
	}
}

// checkCreateTwice: a tag that is there stays as it is.
func checkCreateTwice(s store) {
	s = s.made(50, 10)
	s.wantErr("Create", s.Create(s.within(), segment.Tag{Name: s.tag, Next: 1, Step: 5}),
		segment.ErrTagExists)
	s.wantTake(0, 50, 59)
}

// checkPrune: groups that are over are removed and not created again, and nothing else is. A store
// need not be able to.
func checkPrune(s store) {
	s = s.made(1, 10)
	pruner, ok := s.making.(segment.Pruner)
	if !ok {
		s.Skip("the store is no segment.Pruner")
	}
	create := func(s store, group string, want error) {
		s.Helper()
		s.wantErr("Create of "+group,
			s.Create(s.within(), segment.Tag{Name: s.tag + group, Next: 1, Step: 1}), want)
	}
	for _, group := range []string{".2025", ".2026-10", ".2026-10-31", ".2026-11", "x.2026-10"} {
		create(s, group, nil)
	}
	before := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, want := range []int{2, 0} {
		if n, err := pruner.Prune(s.within(), s.tag, before); n != want || err != nil {
			s.Errorf("Prune removed %d, %v; want %d", n, err, want)
		}
	}
	_, err := pruner.Prune(s.within(), s.tag, before.AddDate(0, 0, -1))
	s.wantErr("Prune of an earlier day", err, segment.ErrInvalidConfig)
	other := s.another()
	for group, want := range map[string]error{
		".2026-10": segment.ErrPruned, ".2026-10-31": segment.ErrPruned, ".2024": segment.ErrPruned,
		".2025": segment.ErrTagExists, ".2026-11": segment.ErrTagExists,
		"x.2026-10": segment.ErrTagExists, ".2026-12": nil,
	} {
		create(other, group, want)
	}
	_, err = pruner.Prune(s.within(), rand.Text(), before)
	s.wantErr("Prune of no tag", err, segment.ErrUnknownTag)
}

// checkClock: the clock of a store that has one is about right.
func checkClock(s store) {
	clock, ok := s.another().making.(segment.Clock)
	if !ok {
		s.Skip("the store is no segment.Clock")
	}
	if now, err := clock.Now(s.within()); err != nil || time.Since(now).Abs() > time.Hour {
		s.Errorf("the time is %v, %v", now, err)
	}
}

// checkSetStep: the step is that of the next range.
func checkSetStep(s store) {
	s = s.made(1, 10)
	s.wantErr("SetStep", s.SetStep(s.within(), s.tag, 25), nil)
	s.another().wantTake(0, 1, 25)
}

// checkExhausted: the last number is handed out, and no number wraps. The largest number of all is
// the next one after the last.
func checkExhausted(s store) {
	const last = math.MaxInt64 - 1
	s = s.made(last-25, 10)
	s.wantTake(10, last-25, last-16)
	s.wantTake(0, last-15, last-6)
	s.wantTake(10, last-5, last)
	for _, step := range []int64{0, 1, 10} {
		r, err := s.Take(s.within(), s.tag, step)
		if s.wantErr("Take at the end", err, segment.ErrExhausted); err == nil {
			safetytest.Of(s).Errorf("it gave %v", r)
		}
	}
	s.wantBack(last, last, true)
	s.wantTake(0, last, last)
}

// checkApart: tags do not touch each other, whatever they are called.
func checkApart(s store) {
	s = s.another()
	some := rand.Text()
	names := []string{
		some + "'\"`;--", some + `\%_`, some + "é漢字🦆", some + " a/b:c",
		some + strings.Repeat("x", segment.MaxTag-len(some)), some, some + ".", some + "/",
	}
	for i, tag := range names {
		made := segment.Tag{Name: tag, Next: int64(1 + 1000*i), Step: 10}
		s.wantErr("Create of "+tag, s.Create(s.within(), made), nil)
	}
	for i, tag := range names {
		s.tag = tag
		s.wantTake(0, int64(1+1000*i), int64(10+1000*i))
	}
}

// checkInvalid: what cannot be is refused.
func checkInvalid(s store) {
	s = s.made(1, 10)
	for _, bad := range []string{
		"", " x", "x ", "a\nb", "\xff",
		strings.Repeat("x", segment.MaxTag+1),
	} {
		_, err := s.Take(s.within(), bad, 1)
		s.wantErr("Take of a bad tag", err, segment.ErrInvalidConfig)
		s.wantErr("Create of a bad tag", s.Create(s.within(), segment.Tag{Name: bad, Next: 1, Step: 1}),
			segment.ErrInvalidConfig)
	}
	for _, step := range []int64{-1, segment.MaxStep + 1, math.MinInt64, math.MaxInt64} {
		_, err := s.Take(s.within(), s.tag, step)
		s.wantErr("Take of a bad step", err, segment.ErrInvalidConfig)
		s.wantErr("SetStep", s.SetStep(s.within(), s.tag, step), segment.ErrInvalidConfig)
	}
	s.wantErr("SetStep to 0", s.SetStep(s.within(), s.tag, 0), segment.ErrInvalidConfig)
	for _, r := range []segment.Range{{First: 5, Last: 4}, {First: 5, Last: math.MaxInt64}} {
		_, err := s.GiveBack(s.within(), s.tag, r)
		s.wantErr("GiveBack of no range", err, segment.ErrInvalidConfig)
	}
	s.wantTake(0, 1, 10)
	long := strings.Repeat("单", segment.MaxTag-len(s.tag)) + s.tag // three bytes each
	s.wantErr("Create of a tag of many bytes",
		s.Create(s.within(), segment.Tag{Name: long, Next: 1, Step: 10}), nil)
	s.tag = long
	s.wantTake(0, 1, 10)
}

// checkCancelled: a call whose context has ended returns soon, with that as its reason.
func checkCancelled(s store) {
	s = s.made(1, 10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	s.wantAll(ctx, context.Canceled)
	_, err := s.Tags(ctx)
	s.wantErr("Tags", err, context.Canceled)
	if took := time.Since(began); took > callTime/2 {
		s.Errorf("it took %v", took)
	}
}

// checkClosed: nothing works after Close, and Close works twice.
func checkClosed(s store) {
	s = s.made(1, 10).another()
	s.wantErr("Close, twice", errors.Join(s.Close(), s.Close()), nil)
	s.wantAll(s.within(), segment.ErrClosed)
	_, err := s.GiveBack(s.within(), s.tag, segment.Range{First: 1, Last: 1})
	s.wantErr("GiveBack", err, segment.ErrClosed)
	_, err = s.Tags(s.within())
	s.wantErr("Tags", err, segment.ErrClosed)
}

// wantAll checks what the errors of calls that name a tag wrap.
func (s store) wantAll(ctx context.Context, want error) {
	s.Helper()
	_, own := s.Take(ctx, s.tag, 0)
	_, take := s.Take(ctx, s.tag, 5)
	_, got := s.Tag(ctx, s.tag)
	for what, err := range map[string]error{
		"Take": own, "Take of 5": take, "Tag": got, "Advance": s.Advance(ctx, s.tag, 5),
	} {
		s.wantErr(what, err, want)
	}
}

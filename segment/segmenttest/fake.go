package segmenttest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/segment"
)

// Fake is a store in memory. It is safe for concurrent use. Make it with [NewFake].
type Fake struct {
	mu      sync.Mutex
	tags    map[string]*segment.Tag
	pruned  map[string]time.Time
	ahead   time.Duration // of the clock
	closed  bool
	between Between
	calls   map[string]int
}

// Between is called in place of a call to a [Fake], and calls do, or not, or twice. The operations
// are take, give back, tag, tags, advance, create, set step, now, prune.
type Between func(ctx context.Context, op, tag string, do func() error) error

// NewFake returns a store with some tags.
func NewFake(tags ...segment.Tag) *Fake {
	f := &Fake{
		tags: map[string]*segment.Tag{}, pruned: map[string]time.Time{}, calls: map[string]int{},
	}
	for _, t := range tags {
		f.tags[t.Name] = &t
	}
	return f
}

var (
	_ segment.Store   = (*Fake)(nil)
	_ segment.Creator = (*Fake)(nil)
	_ segment.Clock   = (*Fake)(nil)
	_ segment.Pruner  = (*Fake)(nil)
)

// Intercept has b called in place of each call from now on. Nil: nothing is.
func (f *Fake) Intercept(b Between) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.between = b
}

// Calls returns how many calls of an operation there were.
func (f *Fake) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Set sets the next number of a tag, as somebody does by hand.
func (f *Fake) Set(tag string, next int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tags[tag].Next = next
}

// SetClock sets how far the clock of the store is ahead of this machine's.
func (f *Fake) SetClock(ahead time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead = ahead
}

// Delete deletes a tag.
func (f *Fake) Delete(tag string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tags, tag)
}

// call runs an operation on a tag; the empty tag is none. What it returns is what the first
// execution gave, as the same request may be executed again later.
func call[T any](ctx context.Context, f *Fake, op, tag string,
	do func(t *segment.Tag) (T, error),
) (T, error) {
	var first T
	done := false
	run := func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		t := f.tags[tag]
		switch {
		case f.closed:
			return segment.ErrClosed
		case t == nil && tag != "" && op != "create":
			return fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
		}
		v, err := do(t)
		if err == nil && !done {
			first, done = v, true
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return first, err
	}
	f.mu.Lock()
	f.calls[op]++
	between := f.between
	f.mu.Unlock()
	var err error
	if between == nil {
		err = run()
	} else {
		err = between(ctx, op, tag, run)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return first, err
}

// change is call for an operation that returns nothing.
func (f *Fake) change(ctx context.Context, op, tag string, do func(t *segment.Tag) error) error {
	_, err := call(ctx, f, op, tag, func(t *segment.Tag) (any, error) { return nil, do(t) })
	return err
}

// Take implements [segment.Store].
func (f *Fake) Take(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Step(step, 0)); err != nil {
		return r, err
	}
	return call(ctx, f, "take", tag, func(t *segment.Tag) (segment.Range, error) {
		if t.Damage != nil {
			return r, t.Damage
		}
		if t.Next == math.MaxInt64 {
			return r, fmt.Errorf("%w: %q", segment.ErrExhausted, tag)
		}
		first := t.Next
		t.Next += min(cmp.Or(step, t.Step), math.MaxInt64-first)
		return segment.Range{First: first, Last: t.Next - 1}, nil
	})
}

// GiveBack implements [segment.Store].
func (f *Fake) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Unused(unused)); err != nil {
		return false, err
	}
	return call(ctx, f, "give back", tag, func(t *segment.Tag) (bool, error) {
		done := t.Next == unused.Last+1
		if done {
			t.Next = unused.First
		}
		return done, nil
	})
}

// Tag implements [segment.Store].
func (f *Fake) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	return call(ctx, f, "tag", tag, func(t *segment.Tag) (segment.Tag, error) { return *t, nil })
}

// Tags implements [segment.Store].
func (f *Fake) Tags(ctx context.Context) ([]segment.Tag, error) {
	return call(ctx, f, "tags", "", func(*segment.Tag) (all []segment.Tag, _ error) {
		for _, t := range f.tags {
			all = append(all, *t)
		}
		slices.SortFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) })
		return all, nil
	})
}

// Advance implements [segment.Store].
func (f *Fake) Advance(ctx context.Context, tag string, to int64) error {
	return f.change(ctx, "advance", tag, func(t *segment.Tag) error {
		if to < t.Next {
			return fmt.Errorf("%w: tag %q is at %d already", segment.ErrInvalidConfig, tag, t.Next)
		}
		t.Next = to
		return nil
	})
}

// Create implements [segment.Creator].
func (f *Fake) Create(ctx context.Context, t segment.Tag) error {
	if err := cmp.Or(segment.CheckTag(t.Name), tagcheck.Step(t.Step, 1)); err != nil {
		return err
	}
	return f.change(ctx, "create", t.Name, func(there *segment.Tag) error {
		if there != nil {
			return fmt.Errorf("%w: %q", segment.ErrTagExists, t.Name)
		}
		if tag, _, ok := segment.GroupOf(t.Name); ok {
			if err := tagcheck.Pruned(t.Name, f.pruned[tag]); err != nil {
				return err
			}
		}
		f.tags[t.Name] = &t
		return nil
	})
}

// SetStep implements [segment.Creator].
func (f *Fake) SetStep(ctx context.Context, tag string, step int64) error {
	if err := tagcheck.Step(step, 1); err != nil {
		return err
	}
	return f.change(ctx, "set step", tag, func(t *segment.Tag) error {
		t.Step = step
		return nil
	})
}

// Now implements [segment.Clock].
func (f *Fake) Now(ctx context.Context) (time.Time, error) {
	return call(ctx, f, "now", "", func(*segment.Tag) (time.Time, error) {
		return time.Now().Add(f.ahead), nil
	})
}

// Prune implements [segment.Pruner].
func (f *Fake) Prune(ctx context.Context, tag string, before time.Time) (int, error) {
	return call(ctx, f, "prune", tag, func(*segment.Tag) (removed int, _ error) {
		if before.Before(f.pruned[tag]) {
			return 0, fmt.Errorf("%w: groups before %s are pruned already", segment.ErrInvalidConfig,
				f.pruned[tag].Format(time.DateOnly))
		}
		f.pruned[tag] = before
		for name := range f.tags {
			if tagcheck.IsPast(name, tag, before) {
				delete(f.tags, name)
				removed++
			}
		}
		return removed, nil
	})
}

// Close implements [segment.Store].
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

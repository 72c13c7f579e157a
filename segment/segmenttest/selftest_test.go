package segmenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/segment"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// client is a fake as one program has it.
type client struct {
	*Fake
	mu     sync.Mutex
	closed bool
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

// err is what every call returns after Close.
func (c *client) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return segment.ErrClosed
	}
	return nil
}

func (c *client) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if err := c.err(); err != nil {
		return segment.Range{}, err
	}
	return c.Fake.Take(ctx, tag, step)
}

func (c *client) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := c.err(); err != nil {
		return false, err
	}
	return c.Fake.GiveBack(ctx, tag, unused)
}

func (c *client) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	if err := c.err(); err != nil {
		return segment.Tag{}, err
	}
	return c.Fake.Tag(ctx, tag)
}

func (c *client) Tags(ctx context.Context) ([]segment.Tag, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.Fake.Tags(ctx)
}

func (c *client) Advance(ctx context.Context, tag string, to int64) error {
	return cmp.Or(c.err(), c.Fake.Advance(ctx, tag, to))
}

// TestFake: the fake passes the suite.
func TestFake(t *testing.T) {
	f := NewFake()
	Run(t, func(testing.TB) segment.Store { return &client{Fake: f} })
}

// The fakes that are broken, one way each.
type (
	torn       struct{ *client } // reads and writes are two steps
	ownStep    struct{ *client } // a step of 0 is 1
	making2    struct{ *client } // unknown tags are made
	generous   struct{ *client } // everything is taken back
	stingy     struct{ *client } // nothing is taken back
	falling    struct{ *client } // Advance goes down
	unsorted   struct{ *client }
	outdated   struct{ *client } // Tag is that of the beginning
	replacing  struct{ *client } // Create replaces
	deaf       struct{ *client } // SetStep does nothing
	wrapping   struct{ *client } // the end is not noticed
	cut        struct{ *client } // the last numbers are not handed out
	shared     struct{ *client } // all tags are one
	careless   struct{ *client } // arguments are not checked
	persistent struct{ *client } // contexts do not matter
	open       struct{ *client } // Close does nothing
)

func (s torn) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	all, err := s.client.Tags(ctx)
	i := slices.IndexFunc(all, func(t segment.Tag) bool { return t.Name == tag })
	if err != nil || i < 0 {
		return s.client.Take(ctx, tag, step)
	}
	runtime.Gosched()
	r, err := s.client.Take(ctx, tag, step)
	return segment.Range{First: all[i].Next, Last: all[i].Next + r.Len() - 1}, err
}

func (s ownStep) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	return s.client.Take(ctx, tag, cmp.Or(step, 1))
}

func (s making2) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	r, err := s.client.Take(ctx, tag, step)
	if errors.Is(err, segment.ErrUnknownTag) {
		return segment.Range{First: 1, Last: 1}, nil
	}
	return r, err
}

func (s generous) GiveBack(_ context.Context, tag string, unused segment.Range) (bool, error) {
	s.Set(tag, unused.First)
	return true, nil
}
func (s stingy) GiveBack(context.Context, string, segment.Range) (bool, error) { return false, nil }

func (s falling) Advance(_ context.Context, tag string, to int64) error {
	s.Set(tag, to)
	return nil
}

func (s unsorted) Tags(ctx context.Context) ([]segment.Tag, error) {
	all, err := s.client.Tags(ctx)
	slices.Reverse(all)
	return all, err
}

func (s outdated) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	t, err := s.client.Tag(ctx, tag)
	t.Next = 1
	return t, err
}

func (s replacing) Create(ctx context.Context, t segment.Tag) error {
	if err := s.client.Create(ctx, t); errors.Is(err, segment.ErrTagExists) {
		s.Set(t.Name, t.Next)
		return err
	}
	return nil
}
func (s deaf) SetStep(context.Context, string, int64) error { return nil }

func (s wrapping) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	r, err := s.client.Take(ctx, tag, step)
	if errors.Is(err, segment.ErrExhausted) {
		return segment.Range{First: math.MinInt64, Last: math.MinInt64 + 9}, nil
	}
	return r, err
}

func (s cut) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	r, err := s.client.Take(ctx, tag, step)
	if err == nil && step > 0 && r.Len() < step {
		return segment.Range{}, fmt.Errorf("%w", segment.ErrExhausted)
	}
	return r, err
}

func (s shared) Create(ctx context.Context, t segment.Tag) error {
	err := s.client.Create(ctx, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err
}

func (s shared) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	all, err := s.client.Tags(ctx)
	if err != nil || len(all) == 0 || segment.CheckTag(tag) != nil {
		return s.client.Take(ctx, tag, step)
	}
	return s.client.Take(ctx, all[0].Name, step)
}

func (s careless) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if step < 0 {
		return segment.Range{First: 1, Last: 1}, nil
	}
	return s.client.Take(ctx, tag, step)
}

func (s persistent) Take(_ context.Context, tag string, step int64) (segment.Range, error) {
	return s.client.Take(context.Background(), tag, step)
}
func (s open) Close() error { return nil }

// TestSuite: each fake that is broken fails its case.
func TestSuite(t *testing.T) {
	for _, tc := range []struct {
		caught string
		broken func(c *client) segment.Store
	}{
		{"Concurrent", func(c *client) segment.Store { return torn{c} }},
		{"Take", func(c *client) segment.Store { return ownStep{c} }},
		{"Unknown", func(c *client) segment.Store { return making2{c} }},
		{"GiveBackLate", func(c *client) segment.Store { return generous{c} }},
		{"GiveBack", func(c *client) segment.Store { return generous{c} }},
		{"GiveBack", func(c *client) segment.Store { return stingy{c} }},
		{"Advance", func(c *client) segment.Store { return falling{c} }},
		{"Tags", func(c *client) segment.Store { return unsorted{c} }},
		{"Tags", func(c *client) segment.Store { return outdated{c} }},
		{"CreateTwice", func(c *client) segment.Store { return replacing{c} }},
		{"SetStep", func(c *client) segment.Store { return deaf{c} }},
		{"Exhausted", func(c *client) segment.Store { return wrapping{c} }},
		{"Exhausted", func(c *client) segment.Store { return cut{c} }},
		{"Apart", func(c *client) segment.Store { return shared{c} }},
		{"Invalid", func(c *client) segment.Store { return careless{c} }},
		{"Cancelled", func(c *client) segment.Store { return persistent{c} }},
		{"Closed", func(c *client) segment.Store { return open{c} }},
	} {
		i := slices.IndexFunc(cases, func(c check) bool { return c.name == tc.caught })
		f := NewFake()
		store := tc.broken(&client{Fake: f})
		// Reads and writes that are two steps are not always torn.
		failed := false
		for range 200 {
			if failed = fails(t, cases[i], func(testing.TB) segment.Store {
				return tc.broken(&client{Fake: f})
			}); failed {
				break
			}
		}
		if !failed {
			t.Errorf("%T passes %s", store, tc.caught)
		}
	}
}

// fails reports whether a store fails a case.
func fails(t *testing.T, c check, open Open) bool {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(r, open)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.cleanups {
		f()
	}
	return r.failed
}

// recorder notes failures.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	cleanups []func()
}

func (r *recorder) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}
func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.fail() }
func (r *recorder) Error(...any)          { r.fail() }
func (r *recorder) Fatalf(string, ...any) { r.fail(); runtime.Goexit() }
func (r *recorder) Fatal(...any)          { r.fail(); runtime.Goexit() }
func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

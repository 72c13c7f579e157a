package segmenttest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/segment"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// client is a fake as one program has it.
type client struct {
	*Fake
	closed atomic.Bool
}

func (c *client) Close() error {
	c.closed.Store(true)
	return nil
}

// err is what every call returns after Close.
func (c *client) err() error {
	if c.closed.Load() {
		return segment.ErrClosed
	}
	return nil
}

func (c *client) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	v, err := c.Fake.Take(ctx, tag, step)
	return v, cmp.Or(c.err(), err)
}

func (c *client) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	v, err := c.Fake.GiveBack(ctx, tag, unused)
	return v, cmp.Or(c.err(), err)
}

func (c *client) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	v, err := c.Fake.Tag(ctx, tag)
	return v, cmp.Or(c.err(), err)
}

func (c *client) Tags(ctx context.Context) ([]segment.Tag, error) {
	v, err := c.Fake.Tags(ctx)
	return v, cmp.Or(c.err(), err)
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
	torn      struct{ *client } // reads and writes are two steps
	generous  struct{ *client } // everything is taken back
	falling   struct{ *client } // Advance goes down
	replacing struct{ *client } // Create replaces
	wrapping  struct{ *client } // the end is not noticed
	shared    struct{ *client } // all tags are one
	careless  struct{ *client } // arguments are not checked
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

func (s generous) GiveBack(_ context.Context, tag string, unused segment.Range) (bool, error) {
	s.Set(tag, unused.First)
	return true, nil
}

func (s falling) Advance(_ context.Context, tag string, to int64) error {
	s.Set(tag, to)
	return nil
}

func (s replacing) Create(ctx context.Context, t segment.Tag) error {
	if err := s.client.Create(ctx, t); errors.Is(err, segment.ErrTagExists) {
		s.Set(t.Name, t.Next)
		return err
	}
	return nil
}

func (s wrapping) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	r, err := s.client.Take(ctx, tag, step)
	if errors.Is(err, segment.ErrExhausted) {
		return segment.Range{First: math.MinInt64, Last: math.MinInt64 + 9}, nil
	}
	return r, err
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

// TestSuite: each fake that is broken fails its case.
func TestSuite(t *testing.T) {
	for _, tc := range []struct {
		caught string
		broken func(c *client) segment.Store
	}{
		{"Concurrent", func(c *client) segment.Store { return torn{c} }},
		{"GiveBackLate", func(c *client) segment.Store { return generous{c} }},
		{"GiveBack", func(c *client) segment.Store { return generous{c} }},
		{"Advance", func(c *client) segment.Store { return falling{c} }},
		{"CreateTwice", func(c *client) segment.Store { return replacing{c} }},
		{"Exhausted", func(c *client) segment.Store { return wrapping{c} }},
		{"Apart", func(c *client) segment.Store { return shared{c} }},
		{"Invalid", func(c *client) segment.Store { return careless{c} }},
	} {
		i := slices.IndexFunc(cases, func(c check) bool { return c.name == tc.caught })
		f := NewFake()
		open := func(testing.TB) segment.Store { return tc.broken(&client{Fake: f}) }
		passed := 0 // reads and writes that are two steps are not always torn
		for passed < 200 && !fails(t, cases[i], open) {
			passed++
		}
		if passed == 200 {
			t.Errorf("%T passes %s", open(t), tc.caught)
		}
	}
}

// fails reports whether a store fails a case.
func fails(t *testing.T, c check, open Open) bool {
	r := &recorder{TB: t}
	var running sync.WaitGroup
	running.Go(func() { c.run(store{TB: r, open: open}) })
	running.Wait()
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

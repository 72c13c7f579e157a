package segment

import (
	"context"
	"errors"
	"testing"
)

// endless hands out ranges, and takes back whatever it is given.
type endless struct{ next int64 }

func (e *endless) Take(_ context.Context, _ string, step int64) (Range, error) {
	r := Range{e.next + 1, e.next + max(step, 1)}
	e.next = r.Last
	return r, nil
}

func (*endless) GiveBack(context.Context, string, Range) (bool, error) { return true, nil }
func (*endless) Tags(context.Context) ([]Tag, error)                   { return []Tag{{Name: "t", Step: 10}}, nil }
func (*endless) Advance(context.Context, string, int64) error          { return nil }
func (*endless) Close() error                                          { return nil }

// TestCallerWhoComesLate: a call of Next that has the segment in hand, and was stopped before it has
// taken a number of it, gets none after Close has given the rest back.
func TestCallerWhoComesLate(t *testing.T) {
	s, err := New(t.Context(), new(endless), "t", Config{Step: 10, MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	held := s.cur.Load()
	if n, err := s.Next(); err != nil || n != 1 {
		t.Fatalf("the first number is %d, %v", n, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := held.used.Add(1); n <= held.size {
		t.Errorf("a caller who came late was given number %d, which the store has again", held.first+n-1)
	}
}

// caseless is a store that compares tags without case, as MySQL does, and has gone back.
type caseless struct {
	endless
	at int64
}

func (c *caseless) Tags(context.Context) ([]Tag, error) {
	return []Tag{{Name: "other", Next: 1, Step: 10}, {Name: "Orders", Next: c.at, Step: 10}}, nil
}

// TestCaseless: a tag that the store spells otherwise is found in its list, by which a sequence learns that a store that went back is above its numbers again.
func TestCaseless(t *testing.T) {
	c, err := (Config{}).resolve()
	if err != nil {
		t.Fatal(err)
	}
	store := &caseless{at: 50}
	s := newSequence(store, "ORDERS", c)
	defer s.cut()
	if err := s.stillBack(t.Context(), 50); !errors.Is(err, ErrWentBack) {
		t.Errorf("at its last number: %v", err)
	}
	store.at++
	if err := s.stillBack(t.Context(), 50); err != nil {
		t.Errorf("above it: %v", err)
	}
	s.tag = "order"
	if err := s.stillBack(t.Context(), 50); !errors.Is(err, ErrUnknownTag) {
		t.Errorf("one that it does not have: %v", err)
	}
}

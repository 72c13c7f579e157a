package segment

import (
	"context"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// endless hands out ranges, and takes back whatever it is given.
type endless struct {
	Store
	next int64
}

func (e *endless) Take(_ context.Context, _ string, step int64) (Range, error) {
	r := Range{e.next + 1, e.next + step}
	e.next = r.Last
	return r, nil
}

func (*endless) GiveBack(context.Context, string, Range) (bool, error) { return true, nil }

// TestCallerWhoComesLate: a call of Next that has the segment in hand, and was stopped before it
// has taken a number of it, gets none after Close has given the rest back.
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
		safetytest.Of(t).Errorf("a caller who came late was given number %d, which the store has again",
			held.first+n-1)
	}
}

// TestSequence_CallerLeavesBeforeTheEnd: a number that is taken on demand, whose caller gives up
// when the store has answered, is given back and not kept. A caller who comes meanwhile has the
// next one taken.
func TestSequence_CallerLeavesBeforeTheEnd(t *testing.T) {
	c, err := Config{Step: 1, MaxStep: 1}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := newSequence(new(endless), "t", c.of("t"))
	defer s.Close(t.Context())
	s.refilling = true
	last, unwanted := s.finish(Range{1, 1}, nil, 0)
	if last || unwanted != (Range{1, 1}) || s.next != nil || s.cur.Load().left() > 0 {
		safetytest.Of(t).Errorf("the last attempt: %v; not wanted: %v; held: %v, %d", last, unwanted,
			s.next, s.cur.Load().left())
	}
	if !s.refilling {
		t.Error("another refill can begin before the number is given back")
	}
	if last, unwanted = s.finish(none, nil, 0); !last || unwanted != none {
		t.Errorf("afterwards: %v, %v", last, unwanted)
	}
	if n, err := s.NextContext(t.Context()); n != 1 || err != nil {
		safetytest.Unless(t, err).Errorf("Next = %d, %v; want 1", n, err)
	}
}

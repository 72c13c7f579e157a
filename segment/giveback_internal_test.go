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

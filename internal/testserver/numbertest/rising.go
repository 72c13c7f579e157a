package numbertest

import (
	"testing"

	"github.com/unalike-id/unalike/segment"
)

// Rising takes the numbers of a sequence one by one, in one goroutine, and sees to it that they
// rise.
type Rising struct {
	Sequence *segment.Sequence
	Used     int64 // the last number, or one below which all that come count as used
}

// Next takes a number and returns why there is none. The test ends if it is not above all before
// it.
func (r *Rising) Next(tb testing.TB) error {
	tb.Helper()
	n, err := r.Sequence.Next()
	if err != nil {
		return err
	}
	if n <= r.Used {
		tb.Fatalf("after %d came %d", r.Used, n)
	}
	r.Used = n
	return nil
}

// Want takes so many numbers, and ends the test if there are fewer.
func (r *Rising) Want(tb testing.TB, count int) {
	tb.Helper()
	for range count {
		if err := r.Next(tb); err != nil {
			tb.Fatal(err)
		}
	}
}

// Refusal takes numbers until there is none, and returns why. Nil: they go on up to 1000.
func (r *Rising) Refusal(tb testing.TB) error {
	tb.Helper()
	for r.Used < 1000 {
		if err := r.Next(tb); err != nil {
			return err
		}
	}
	return nil
}

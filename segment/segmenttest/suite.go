package segmenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// callTime bounds a call of a test.
const callTime = 30 * time.Second

// Open returns a store as another program has it: all that it returns share what is stored. They
// are closed with the test.
type Open func(tb testing.TB) segment.Store

// Run holds a store, which is a [segment.Creator] too, to its interface. Each case makes tags of
// its own.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

// check is one case.
type check struct {
	name string
	run  func(tb testing.TB, open Open)
}

var cases = []check{
	{"Take", checkTake},
	{"Concurrent", checkConcurrent},
	{"Unknown", checkUnknown},
	{"GiveBack", checkGiveBack},
	{"GiveBackLate", checkGiveBackLate},
	{"Advance", checkAdvance},
	{"Tags", checkTags},
	{"CreateTwice", checkCreateTwice},
	{"SetStep", checkSetStep},
	{"Exhausted", checkExhausted},
	{"Apart", checkApart},
	{"Invalid", checkInvalid},
	{"Cancelled", checkCancelled},
	{"Closed", checkClosed},
}

// making is a store that can make tags.
type making interface {
	segment.Store
	segment.Creator
}

// opened returns a store.
func opened(tb testing.TB, open Open) making {
	tb.Helper()
	s, ok := open(tb).(making)
	if !ok {
		tb.Fatal("the store is no segment.Creator")
	}
	return s
}

// made returns a store and a new tag in it.
func made(tb testing.TB, open Open, next, step int64) (making, string) {
	tb.Helper()
	s, tag := opened(tb, open), rand.Text()
	if err := s.Create(within(tb),
		segment.Tag{Name: tag, Next: next, Step: step, Description: "made by a test"}); err != nil {
		tb.Fatalf("Create: %v", err)
	}
	return s, tag
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// wantTake takes a range that is to be from first to last.
func wantTake(tb testing.TB, s segment.Store, tag string, step, first, last int64) {
	tb.Helper()
	r, err := s.Take(within(tb), tag, step)
	if err != nil || r != (segment.Range{First: first, Last: last}) {
		tb.Errorf("Take(%q, %d) = %v, %v; want %d to %d", tag, step, r, err, first, last)
	}
}

// wantErr checks what an error wraps.
func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: %v; want an error that wraps %q", what, err, want)
	}
}

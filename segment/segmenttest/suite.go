package segmenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
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
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(store{TB: t, open: open}) })
	}
}

// check is one case.
type check struct {
	name string
	run  func(s store)
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
	{"Prune", checkPrune},
	{"Clock", checkClock},
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

// store is one in a test, and the tag that it was made with.
type store struct {
	testing.TB
	making
	open Open
	tag  string
}

// another returns the store as another program has it.
func (s store) another() store {
	s.Helper()
	var ok bool
	if s.making, ok = s.open(s.TB).(making); !ok {
		s.Fatal("the store is no segment.Creator")
	}
	return s
}

// made returns another store, and a new tag in it.
func (s store) made(next, step int64) store {
	s.Helper()
	s = s.another()
	s.tag = rand.Text()
	if err := s.Create(s.within(),
		segment.Tag{Name: s.tag, Next: next, Step: step, Description: "made by a test"}); err != nil {
		s.Fatalf("Create: %v", err)
	}
	return s
}

// within returns a context for one call.
func (s store) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	s.Cleanup(cancel)
	return ctx
}

// wantTake takes a range that is to be from first to last.
func (s store) wantTake(step, first, last int64) {
	s.Helper()
	r, err := s.Take(s.within(), s.tag, step)
	if err != nil || r != (segment.Range{First: first, Last: last}) {
		safetytest.Unless(s, err).Errorf("Take(%q, %d) = %v, %v; want %d to %d", s.tag, step, r, err,
			first, last)
	}
}

// wantErr checks what an error wraps; nil: there is none.
func (s store) wantErr(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: %v; want %v", what, err, want)
	}
}

// Package numbertest has what tests of stores of segments on real servers share: tags that are
// damaged.
package numbertest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
)

// Store is what the tests need of a store.
type Store interface {
	segment.Store
	segment.Creator
}

// Damage is how a test damages what is stored. The tags are there.
type Damage struct {
	// Next sets the next number of a tag, and Step its step, as somebody does by hand.
	Next, Step func(tag string, n int64)
	// Unreadable makes what is stored of a tag no number.
	Unreadable func(tag string)
	// Says is in the error of such a tag.
	Says string
	// Read returns the next number that is stored of a tag.
	Read func(tag string) int64
}

// Damaged damages what is stored of some tags: each of them says so, the others can be used,
// nothing that is wrong is made right silently, and an operator makes it right.
func Damaged(tb testing.TB, s Store, d Damage) {
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute) // on a busy machine
	defer cancel()
	for _, tag := range []string{"negative", "nothing", "stepless", "whole"} {
		if err := s.Create(ctx, segment.Tag{Name: tag, Next: 1, Step: 10}); err != nil {
			tb.Fatal(err)
		}
	}
	d.Next("negative", -5)
	d.Step("stepless", 0)
	d.Unreadable("nothing")
	all, err := s.Tags(ctx)
	if err != nil {
		tb.Fatalf("Tags with damaged ones: %v", err)
	}
	listed := map[string]segment.Tag{}
	for _, tag := range all {
		listed[tag.Name] = tag
	}
	if tag := listed["whole"]; tag.Damage != nil || tag.Next != 1 || tag.Step != 10 {
		tb.Errorf("Tags has %+v; want a tag that is whole", tag)
	}
	set, err := segment.NewSet(ctx, s, segment.Config{RefillTimeout: time.Minute})
	if err != nil {
		tb.Fatalf("NewSet with damaged tags: %v", err)
	}
	if n, err := set.Next(ctx, "whole"); err != nil || n != 1 {
		tb.Errorf("Next of a tag that is whole: %d, %v", n, err)
	}
	for tag, says := range map[string][]string{
		"negative": {
			`tag "negative": its next number`,
			"is -5; a whole number from 0 to 9223372036854775807 is allowed", "unalike segments advance",
		},
		"stepless": {`tag "stepless": its step`, "is 0; set one from 1 to 1099511627776"},
		"nothing":  {"nothing", d.Says},
	} {
		_, take := s.Take(ctx, tag, 0)
		_, next := set.Next(ctx, tag)
		for what, err := range map[string]error{"Tags": listed[tag].Damage, "Take": take, "Next": next} {
			for _, part := range says {
				if !errors.Is(err, segment.ErrDamaged) || !strings.Contains(err.Error(), part) {
					tb.Errorf("%s of %s: %v; want %q in it", what, tag, err, part)
				}
			}
		}
	}
	if err := set.Close(ctx); err != nil { // else it takes what is made right
		tb.Error(err)
	}
	d.mend(ctx, tb, s)
}

// mend: nothing is taken of a damaged tag, but with a step of one's own if only that is missing. An
// operator makes right what is wrong.
func (d Damage) mend(ctx context.Context, tb testing.TB, s Store) {
	tb.Helper()
	take := func(tag string, step, first, last int64) {
		tb.Helper()
		r, err := s.Take(ctx, tag, step)
		if err != nil || r != (segment.Range{First: first, Last: last}) {
			safetytest.Unless(tb, err).Errorf("Take(%s, %d) = %v, %v; want %d to %d", tag, step, r, err,
				first, last)
		}
	}
	_, negative := s.Take(ctx, "negative", 10)
	_, nothing := s.Take(ctx, "nothing", 10)
	_, below := s.GiveBack(ctx, "negative", segment.Range{First: -9, Last: -6})
	for _, wrong := range []struct {
		what      string
		got, want error
	}{
		{"Take of a negative number", negative, segment.ErrDamaged},
		{"Take of no number", nothing, segment.ErrDamaged},
		{"GiveBack of negative numbers", below, segment.ErrInvalidConfig},
		{"Advance to -1", s.Advance(ctx, "negative", -1), segment.ErrInvalidConfig},
		{"Advance of no number", s.Advance(ctx, "nothing", 100), segment.ErrDamaged},
	} {
		if !errors.Is(wrong.got, wrong.want) {
			tb.Errorf("%s: %v; want %v", wrong.what, wrong.got, wrong.want)
		}
	}
	if n := d.Read("negative"); n != -5 {
		safetytest.Of(tb).Errorf("a negative number was made %d", n)
	}
	take("stepless", 3, 1, 3)
	if err := errors.Join(s.Advance(ctx, "negative", 100), s.SetStep(ctx, "stepless", 7)); err != nil {
		tb.Error(err)
	}
	take("negative", 10, 100, 109)
	take("stepless", 0, 4, 10)
}

package numbertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/segment"
)

// Damage is how a test damages what is stored. The tags are there.
type Damage struct {
	// Next sets the next number of a tag, and Step its step, as somebody does by hand.
	Next, Step func(tb testing.TB, tag string, n int64)
	// Unreadable makes what is stored of a tag no number.
	Unreadable func(tb testing.TB, tag string)
	// Says is in the error of such a tag.
	Says string
	// Read returns the next number that is stored of a tag.
	Read func(tb testing.TB, tag string) int64
}

// damages are the tags that are damaged, and what the error of each says.
func (d Damage) damages() map[string][]string {
	return map[string][]string{
		"negative": {
			`tag "negative": its next number`,
			"is -5; a whole number from 0 to 9223372036854775807 is allowed", "unalike segments advance",
		},
		"stepless": {`tag "stepless": its step`, "is 0; set one from 1 to 1099511627776"},
		"nothing":  {"nothing", d.Says},
	}
}

// Damaged damages what is stored of some tags: each of them says so, the others can be used, and
// nothing that is wrong is made right silently.
func Damaged(t *testing.T, s Store, d Damage) {
	for _, tag := range []string{"negative", "nothing", "stepless", "whole"} {
		if err := s.Create(within(t), segment.Tag{Name: tag, Next: 1, Step: 10}); err != nil {
			t.Fatal(err)
		}
	}
	d.Next(t, "negative", -5)
	d.Step(t, "stepless", 0)
	d.Unreadable(t, "nothing")
	d.list(t, s)
	d.take(t, s)
	d.set(t, s)
	d.mend(t, s)
}

// wantDamage fails unless an error says what is wrong with a tag.
func (d Damage) wantDamage(tb testing.TB, what, tag string, err error) {
	tb.Helper()
	for _, part := range d.damages()[tag] {
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), part) {
			tb.Errorf("%s of %s: %v; want %q in it", what, tag, err, part)
		}
	}
}

// list: all tags are listed, those that are damaged say so.
func (d Damage) list(t *testing.T, s Store) {
	all, err := s.Tags(within(t))
	if err != nil {
		t.Fatalf("Tags with damaged ones: %v", err)
	}
	for tag := range d.damages() {
		i := slices.IndexFunc(all, func(t segment.Tag) bool { return t.Name == tag })
		if i < 0 {
			t.Fatalf("tag %s is not listed: %v", tag, all)
		}
		d.wantDamage(t, "Tags", tag, all[i].Damage)
	}
	i := slices.IndexFunc(all, func(t segment.Tag) bool { return t.Name == "whole" })
	if i < 0 || all[i].Damage != nil || all[i].Next != 1 || all[i].Step != 10 {
		t.Errorf("Tags: %v; want a tag that is whole", all)
	}
}

// take: of a damaged tag nothing is taken, but with a step of one's own if only that is missing.
func (d Damage) take(t *testing.T, s Store) {
	for tag, steps := range map[string][]int64{
		"negative": {0, 10}, "nothing": {0, 10},
		"stepless": {0},
	} {
		for _, step := range steps {
			r, err := s.Take(within(t), tag, step)
			if err == nil {
				t.Errorf("Take(%s, %d) = %v", tag, step, r)
			}
			d.wantDamage(t, "Take", tag, err)
		}
	}
	if n := d.Read(t, "negative"); n != -5 {
		t.Errorf("a negative number was made %d", n)
	}
	if done, err := s.GiveBack(within(t), "negative", segment.Range{First: -9, Last: -6}); done ||
		!errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("GiveBack of negative numbers: %v, %v", done, err)
	}
	if r, err := s.Take(within(t), "stepless", 3); err != nil ||
		r != (segment.Range{First: 1, Last: 3}) {
		t.Errorf("Take of a tag without a step: %v, %v", r, err)
	}
}

// set: a set gives out numbers of the other tags, and says of those that are damaged what is wrong
// with them.
func (d Damage) set(t *testing.T, s Store) {
	set, err := segment.NewSet(within(t), s, segment.Config{RefillTimeout: callTime})
	if err != nil {
		t.Fatalf("NewSet with damaged tags: %v", err)
	}
	defer set.Close(within(t))
	if n, err := set.Next(within(t), "whole"); err != nil || n != 1 {
		t.Errorf("Next of a tag that is whole: %d, %v", n, err)
	}
	for tag := range d.damages() {
		_, err := set.Next(within(t), tag)
		d.wantDamage(t, "Next", tag, err)
	}
}

// mend: an operator makes right what is wrong.
func (d Damage) mend(t *testing.T, s Store) {
	if err := s.Advance(within(t), "negative", -1); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("Advance to -1: %v", err)
	}
	d.wantDamage(t, "Advance", "nothing", s.Advance(within(t), "nothing", 100))
	if err := s.Advance(within(t), "negative", 100); err != nil {
		t.Errorf("Advance of a negative number: %v", err)
	}
	if r, err := s.Take(within(t), "negative", 10); err != nil ||
		r != (segment.Range{First: 100, Last: 109}) {
		t.Errorf("Take of what was negative: %v, %v", r, err)
	}
	if err := s.SetStep(within(t), "stepless", 7); err != nil {
		t.Errorf("SetStep of a tag without a step: %v", err)
	}
	if r, err := s.Take(within(t), "stepless", 0); err != nil ||
		r != (segment.Range{First: 4, Last: 10}) {
		t.Errorf("Take of what was without a step: %v, %v", r, err)
	}
}

package sqlsegment

import (
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestJudge: the newest mark of a tag counts, whoever has it, and says whether the server is the
// one that it is to be on.
func TestJudge(t *testing.T) {
	const here, there = "here", "there"
	none := mark{}
	at := func(identity string, stamp int64) mark { return mark{identity, stamp} }
	for _, tt := range []struct {
		what  string
		marks marks
		is    mark
		all   bool
		same  bool
	}{
		{"nothing is recorded", marks{at(here, 0), none, none}, at(here, 0), false, true},
		{"as it was", marks{at(here, 5), at(here, 5), none}, at(here, 5), false, true},
		{
			"another server, and nobody has said so",
			marks{at(there, 5), at(there, 5), none},
			at(there, 5),
			false, false,
		},
		{
			"all tags were raised here since",
			marks{at(there, 5), at(here, 6), none},
			at(here, 6), true,
			true,
		},
		{
			"the tag was raised here since",
			marks{at(there, 5), at(there, 5), at(here, 6)},
			at(here, 6),
			false, true,
		},
		{
			"the tag was, and then all were elsewhere",
			marks{at(here, 5), at(there, 7), at(here, 6)},
			at(there, 7), true, false,
		},
		{
			"back on the first server, whose record is older than what is known",
			marks{at(there, 9), at(here, 5), none},
			at(there, 9), false, false,
		},
		{
			"back on the first server, which has heard of the tag's move",
			marks{at(here, 5), at(here, 5), at(there, 8)},
			at(there, 8), false, false,
		},
		{
			"a row for the tag from before a row for all",
			marks{at(here, 5), at(here, 9), at(there, 8)},
			at(here, 9), true, true,
		},
		{
			"equal stamps: what is known counts",
			marks{at(here, 5), at(there, 5), at(there, 5)},
			at(here, 5), false, true,
		},
	} {
		if is, all, same := tt.marks.judge(here); is != tt.is || all != tt.all || same != tt.same {
			t.Errorf("%s: %v, %t, %t; want %v, %t, %t", tt.what, is, all, same, tt.is, tt.all, tt.same)
		}
	}
}

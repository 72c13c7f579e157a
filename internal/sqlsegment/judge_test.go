package sqlsegment

import "testing"

// TestJudge: the newest mark of a tag counts, whoever has it, and says whether the server is the one that it is to be on.
func TestJudge(t *testing.T) {
	const here, there = "here", "there"
	none := mark{}
	at := func(identity string, stamp int64) mark { return mark{identity, stamp} }
	for _, tt := range []struct {
		what  string
		marks marks
		skip  bool
		is    mark
		all   bool
		want  verdict
	}{
		{"nothing is recorded", marks{at(here, 0), none, none}, false, at(here, 0), false, same},
		{"as it was", marks{at(here, 5), at(here, 5), none}, false, at(here, 5), false, same},
		{"another server, and nobody has said so", marks{at(there, 5), at(there, 5), none}, false, at(there, 5), false, moved},
		{"that, and numbers are to be skipped", marks{at(there, 5), at(there, 5), none}, true, at(there, 5), false, skipped},
		{"all tags were raised here since", marks{at(there, 5), at(here, 6), none}, false, at(here, 6), true, same},
		{"the tag was raised here since", marks{at(there, 5), at(there, 5), at(here, 6)}, false, at(here, 6), false, same},
		{"the tag was, and then all were elsewhere", marks{at(here, 5), at(there, 7), at(here, 6)}, false, at(there, 7), true, moved},
		{"back on the first server, whose record is older than what is known", marks{at(there, 9), at(here, 5), none}, false, at(there, 9), false, moved},
		{"back on the first server, which has heard of the tag's move", marks{at(here, 5), at(here, 5), at(there, 8)}, false, at(there, 8), false, moved},
		{"a row for the tag from before a row for all", marks{at(here, 5), at(here, 9), at(there, 8)}, false, at(here, 9), true, same},
		{"equal stamps: what is known counts", marks{at(here, 5), at(there, 5), at(there, 5)}, false, at(here, 5), false, same},
		{"numbers are not skipped without need", marks{at(here, 5), at(here, 5), none}, true, at(here, 5), false, same},
	} {
		if is, all, v := tt.marks.judge(here, tt.skip); is != tt.is || all != tt.all || v != tt.want {
			t.Errorf("%s: %v, %t, %d; want %v, %t, %d", tt.what, is, all, v, tt.is, tt.all, tt.want)
		}
	}
}

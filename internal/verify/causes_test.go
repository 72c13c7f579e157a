package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// TestCauses builds what the causes look like.
func TestCauses(t *testing.T) {
	var steady, ahead, mixed, copied []core.ID
	for i := range 200 {
		at := time.Duration(i) * time.Second
		steady = append(steady, id(t, at, 1, 7))
		ahead = append(ahead, id(t, time.Duration(i)*10*time.Millisecond, 1, 0))
		mixed = append(mixed, id(t, at, 1, 0), id(t, at-500*time.Millisecond, 1, 0), id(t, at, 1, 0))
		copied = append(copied, id(t, at, 1, i), id(t, at, 1, i))
	}
	far := id(t, 2*time.Hour, 9, 0) // after what is possible
	for _, tt := range []struct {
		name  string
		files [][]core.ID
		want  []string
	}{
		{
			"a clock that was stepped back",
			[][]core.ID{append(steady[:200:200], steady[100:]...)},
			[]string{CauseClock, CauseTwice},
		},
		{
			"a restart",
			[][]core.ID{append(ahead[:200:200], ahead[150:]...)},
			[]string{CauseRestart, CauseClock, CauseTwice},
		},
		{"two generators", [][]core.ID{mixed}, []string{CauseTwice}},
		{
			"sorted by a database",
			[][]core.ID{{steady[0], steady[1], steady[1], steady[2]}},
			[]string{CauseTwice},
		},
		{
			"a step back elsewhere",
			[][]core.ID{{steady[0], steady[0], steady[9], steady[8]}},
			[]string{CauseTwice},
		},
		{"lines that were copied", [][]core.ID{copied}, []string{CauseCopied, CauseTwice}},
		{
			"another layout",
			[][]core.ID{{steady[0], far, steady[1], steady[1], steady[2]}},
			[]string{CauseLayouts, CauseTwice},
		},
		{"nothing wrong", [][]core.ID{steady}, nil},
	} {
		var sources []Source
		for i, ids := range tt.files {
			sources = append(sources, text(fmt.Sprint("f", i), lines(ids...)))
		}
		var got []string
		for _, c := range mustCheck(t, options(t), sources...).Causes {
			got = append(got, c.Kind)
			if c.WorkerID != 1 || c.Why == "" {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

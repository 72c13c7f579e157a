package stage

import (
	"fmt"
	"strings"
	"testing"
)

// TestScreen: lines stay, and the one below them shows all jobs that run, also on a terminal that is too narrow.
func TestScreen(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	s.columns = 31
	one, two := &progress{screen: s}, &progress{screen: s}
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { _, _ = fmt.Fprintln(s, "first") }, "first\n"},
		{func() { s.show(one, "one: 1 s") }, "one: 1 s"},
		{func() { s.show(two, "two: 1 s") }, "\r\033[Kone: 1 s | two: 1 s"},
		{func() { s.show(one, "one: 2 s") }, "\r\033[Kone: 2 s | two: 1 s"},
		{func() { _, _ = fmt.Fprintln(s, "second") }, "\r\033[Ksecond\none: 2 s | two: 1 s"},
		{func() { s.show(two, "two is very long by now") }, "\r\033[Kone: 2 s | two is very long by"},
		{func() { s.show(one, "") }, "\r\033[Ktwo is very long by now"},
		{func() { s.show(two, "") }, "\r\033[K"},
		{func() { s.show(two, "") }, ""},
		{func() { _, _ = fmt.Fprintln(s, "third") }, "third\n"},
	} {
		out.Reset()
		if c.do(); out.String() != c.want {
			t.Errorf("it printed %q; want %q", &out, c.want)
		}
	}
}

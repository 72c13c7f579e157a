package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSpecCheck(t *testing.T) {
	for want, s := range map[string]Spec{
		"Dir is empty":                      {},
		"a generator has no Name":           {Dir: "x", Generators: []Generator{{}}},
		`two generators have the name "a"`:  {Dir: "x", Generators: []Generator{{Name: "a"}, {Name: "a"}}},
		"generator a has PerSecond -1":      {Dir: "x", Generators: []Generator{{Name: "a", PerSecond: -1}}},
		"PerSecond 0 and Goroutines -2":     {Dir: "x", Generators: []Generator{{Name: "a", Goroutines: -2}}},
		`generator a: core: invalid layout`: {Dir: "x", Generators: []Generator{{Name: "a", Layout: "wide"}}},
		"a has Listen and Servers": {
			Dir: "x",
			Generators: []Generator{{
				Name: "a", Listen: "127.0.0.1:1",
				Servers: []string{"http://127.0.0.1:1"},
			}},
		},
		"%!s(<nil>)": {Dir: "x", Generators: []Generator{
			{Name: "a"},
			{Name: "b", Layout: "twitter", PerSecond: 1},
		}},
	} {
		if got := fmt.Sprintf("%s", s.check()); !strings.Contains(got, want) {
			t.Errorf("%+v: %s; want %q", s, got, want)
		}
	}
}

func TestPace(t *testing.T) {
	for _, c := range []struct {
		perSecond, goroutines int
		every                 time.Duration
		n                     int
	}{
		{1, 1, time.Second, 1},
		{100, 1, 10 * time.Millisecond, 1},
		{100, 4, 40 * time.Millisecond, 1},
		{1000, 1, time.Millisecond, 1},
		{10000, 1, time.Millisecond, 10},
		{10000, 2, time.Millisecond, 5},
		{10001, 2, time.Millisecond, 6},
	} {
		s := issuer{instance: &instance{Generator: Generator{
			PerSecond:  c.perSecond,
			Goroutines: c.goroutines,
		}}}
		if every, n := s.pace(); every != c.every || n != c.n {
			t.Errorf("%d a second by %d goroutines: %d each %v; want %d each %v", c.perSecond, c.goroutines,
				n, every, c.n, c.every)
		}
	}
}

// TestListener: lines are put together from whatever pieces they arrive in, and what is no event
// shows.
func TestListener(t *testing.T) {
	l := listener{changed: make(chan struct{})}
	_, changed := l.all()
	for _, piece := range []string{
		`{"kind":"rea`, "dy\"}\n{\"kind\":\"change\"}\nfatal: ", "oh\n",
		`{"kind":`,
	} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	<-changed
	events, _ := l.all()
	if len(events) != 3 || events[0].Kind != Ready || events[1].Kind != Change ||
		!strings.Contains(events[2].Text, "fatal: oh") {
		t.Errorf("the events are %+v", events)
	}
}

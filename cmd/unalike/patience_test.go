package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// callWithin is call with an end for each call to a back end.
func callWithin(t *testing.T, answer time.Duration, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := waits{answer: answer, quiet: time.Millisecond, dial: callTime}
	got := callIn(ctx, w, nil, "", args...)
	if ctx.Err() != nil {
		t.Errorf("%v did not end within a minute", args)
	}
	return got
}

// TestNobodyAnswers: no operator's command waits for ever, and while one waits it says
// what for.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	addr := silent(t)
	commands := [][]string{{"workers"}, {"init"}, {"quarantine", "--yes"}, {"retire", "1", "--yes"}}
	for scheme, url := range map[string]string{
		"zk":       "zk://user:secret@" + addr + "?namespace=x",
		"etcd":     "etcd://" + addr + "/x",
		"redis":    "redis://user:secret@" + addr + "/0?namespace=x",
		"postgres": "postgres://user:secret@" + addr + "/db?namespace=x",
		"mysql":    "mysql://user:secret@" + addr + "/db?namespace=x",
	} {
		for _, command := range commands {
			t.Run(scheme+"/"+command[0], func(t *testing.T) {
				t.Parallel()
				got := callWithin(t, 2*time.Second, append(command, "--coordinator", url)...)
				if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, addr) || strings.Contains(got.stderr, "secret") {
					t.Errorf("%+v", got)
				}
				// Opening it takes no call; on a slow machine, it may take long enough to be told of.
				want := "unalike: still waiting for " + scheme + "://"
				if n := strings.Count(got.stderr, want); n < 1 || n > 2 || !strings.Contains(got.stderr, ", at most 2s ...\n") {
					t.Errorf("%s\nwant once %q, or twice, and how long", got.stderr, want)
				}
				// The others look first.
				if changes := command[0] == "init"; changes != strings.Contains(got.stderr, "the outcome is unknown, and asking again is safe") {
					t.Errorf("changes something: %t; said was\n%s", changes, got.stderr)
				}
			})
		}
	}
}

// TestWhileWaiting: what was waited for has ended when it returns, and nothing is said
// of what was quick.
func TestWhileWaiting(t *testing.T) {
	t.Parallel()
	told, done := false, make(chan struct{})
	whileWaiting(time.Nanosecond, func() { told = true; close(done) }, func() { <-done })
	if !told {
		t.Error("nobody was told")
	}
	whileWaiting(time.Hour, func() { t.Error("told at once") }, func() {})
}

// TestAskedCanStillChange: a namespace that can be changed must not pass for one that
// cannot, because that is followed without being closed.
func TestAskedCanStillChange(t *testing.T) {
	t.Parallel()
	var c struct {
		coord.Coordinator
		coord.Admin
	}
	if _, ok := asked(c, &asker{}).(coord.Admin); !ok {
		t.Error("it cannot be changed any more")
	}
}

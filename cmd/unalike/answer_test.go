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

// TestNobodyAnswers: no operator's command waits for ever, and while one waits it says what for,
// and whether something may have changed.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	addr := silent(t)
	for kind, of := range map[string]struct{ urls, commands []string }{
		" --coordinator ": {
			[]string{
				"zk://user:secret@ADDRESS?namespace=x", "etcd://ADDRESS/x",
				"redis://user:secret@ADDRESS/0?namespace=x",
				"postgres://user:secret@ADDRESS/db?namespace=x", "mysql://user:secret@ADDRESS/db?namespace=x",
			},
			[]string{"workers", "init", "quarantine --yes", "retire 1 --yes"},
		},
		" --store ": {storeURLs, []string{"segments", "segments create x", "generate --segment x"}},
	} {
		for _, url := range of.urls {
			for _, command := range of.commands {
				t.Run(strings.ReplaceAll(command+" "+url, "/", "_"), func(t *testing.T) {
					t.Parallel()
					at := strings.Replace(url, "ADDRESS", addr, 1)
					got := callWithin(t, 2*time.Second, strings.Fields(command+kind+at)...)
					if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, addr) ||
						strings.Contains(got.stderr, "secret") {
						t.Errorf("%+v", got)
					}
					// Opening it takes no call; on a slow machine, it may take long enough to be told of.
					if n := strings.Count(got.stderr, "unalike: still waiting for "); n < 1 || n > 2 ||
						!strings.Contains(got.stderr, ", at most 2s ...\n") {
						t.Errorf("it should say what it waits for, and how long:\n%s", got.stderr)
					}
					// The others look first.
					changes := command == "init" || strings.Contains(command, "create") &&
						strings.HasPrefix(url, "etcd")
					if changes != strings.Contains(got.stderr,
						"the outcome is unknown, and asking again is safe") {
						t.Errorf("changes something: %t; said was\n%s", changes, got.stderr)
					}
				})
			}
		}
	}
}

// TestAskedCanStillChange: a namespace that can be changed must not pass for one that
// cannot, because that is followed without being closed.
func TestAskedCanStillChange(t *testing.T) {
	t.Parallel()
	if _, ok := any(&namespace{}).(coord.AdminCoordinator); !ok {
		t.Error("it cannot be changed any more")
	}
}

package stage

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTB: what ends a test ends what runs with a tb, and leaves the same behind.
func TestTB(t *testing.T) {
	for name, c := range map[string]struct {
		run      func(*tb)
		failures []string
		skipped  string
		ends     bool // before the end of run
	}{
		"good":    {run: func(tb *tb) { tb.Helper(); tb.Log("a", 1); tb.Logf("%d", 2) }},
		"Error":   {run: func(tb *tb) { tb.Error("a", 1); tb.Errorf("%d", 2) }, failures: []string{"a 1", "2"}},
		"Fatal":   {run: func(tb *tb) { tb.Fatal("a", 1) }, failures: []string{"a 1"}, ends: true},
		"Fatalf":  {run: func(tb *tb) { tb.Fatalf("%d", 2) }, failures: []string{"2"}, ends: true},
		"Fail":    {run: func(tb *tb) { tb.Fail() }, failures: []string{"it has failed without a reason"}},
		"FailNow": {run: func(tb *tb) { tb.FailNow() }, failures: []string{"it has failed without a reason"}, ends: true},
		"Skip":    {run: func(tb *tb) { tb.Skip("a", 1) }, skipped: "a 1", ends: true},
		"Skipf":   {run: func(tb *tb) { tb.Skipf("%d", 2) }, skipped: "2", ends: true},
		"SkipNow": {run: func(tb *tb) { tb.SkipNow() }, skipped: "without a reason", ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			tb := newTB(t.Context(), "name", t.TempDir(), &log)
			reached := false
			<-tb.run(func() { c.run(tb); reached = true })
			failures, skipped := tb.outcome()
			if !slices.Equal(failures, c.failures) || skipped != c.skipped || reached == c.ends {
				t.Errorf("failures %q, skipped %q, the end was reached: %v", failures, skipped, reached)
			}
			if tb.Failed() != (len(c.failures) > 0) || tb.Skipped() != (c.skipped != "") || tb.Name() != "name" {
				t.Errorf("Failed %v, Skipped %v, Name %s", tb.Failed(), tb.Skipped(), tb.Name())
			}
			for _, f := range c.failures {
				if !strings.HasPrefix(f, "it has") && !strings.Contains(log.String(), "name: FAILED: "+f+"\n") {
					t.Errorf("the log is %q; want %q in it", log.String(), f)
				}
			}
		})
	}
}

// TestTBCleanup: cleanups run in the opposite order, each of them whatever the others do, and what comes late is
// run at once.
func TestTBCleanup(t *testing.T) {
	t.Setenv("UNALIKE_TEST_STAGE", "before")
	tb := newTB(t.Context(), "name", t.TempDir(), t.Output())
	var ran []string
	var ended error
	tb.Cleanup(func() { ran = append(ran, "first") })
	tb.Cleanup(func() { tb.Fatal("a cleanup has failed") })
	tb.Cleanup(func() {
		ended = context.Cause(tb.Context())
		tb.Cleanup(func() { ran = append(ran, "added") })
		ran = append(ran, "second")
	})
	dir := tb.TempDir()
	tb.Setenv("UNALIKE_TEST_STAGE", "during")
	if got := os.Getenv("UNALIKE_TEST_STAGE"); got != "during" {
		t.Errorf("the variable is %q", got)
	}
	if other := tb.TempDir(); other == dir {
		t.Errorf("two temporary folders are both %s", dir)
	}
	tb.cancel(errEnded)
	tb.cleanup()
	tb.Cleanup(func() { ran = append(ran, "late") })
	if want := []string{"second", "added", "first", "late"}; !slices.Equal(ran, want) {
		t.Errorf("the cleanups ran as %q; want %q", ran, want)
	}
	if failures, _ := tb.outcome(); !slices.Equal(failures, []string{"a cleanup has failed"}) {
		t.Errorf("the failures are %q", failures)
	}
	if !errors.Is(ended, errEnded) {
		t.Errorf("the context ended with %v", ended)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder: %v; want none", err)
	}
	if got := os.Getenv("UNALIKE_TEST_STAGE"); got != "before" {
		t.Errorf("the variable is %q afterwards", got)
	}
}

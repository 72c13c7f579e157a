package fulltest_test

import (
	"flag"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

func TestRounds(t *testing.T) {
	for value, want := range map[string]int{"": 2, "1": 10, "yes": 10} {
		t.Setenv("UNALIKE_FULL", value)
		if got := fulltest.Rounds(2, 10); got != want {
			t.Errorf("UNALIKE_FULL=%q: %d rounds, want %d", value, got, want)
		}
	}
}

// TestLong: a long test runs unless -short is set.
func TestLong(t *testing.T) {
	ran := false
	t.Run("long", func(t *testing.T) {
		fulltest.Long(t, "this one does not")
		ran = true
	})
	if ran == testing.Short() {
		t.Errorf("with -short %t, the long test ran: %t", testing.Short(), ran)
	}
}

// TestHeavy: a test of this kind runs if it is asked for.
func TestHeavy(t *testing.T) {
	for pattern, want := range map[string]bool{"": false, "TestHeavy": true, "Heavy$": true} {
		run := flag.Lookup("test.run").Value
		before := run.String()
		t.Cleanup(func() { _ = run.Set(before) })
		if err := run.Set(pattern); err != nil {
			t.Fatal(err)
		}
		ran := false
		t.Run("case", func(t *testing.T) {
			fulltest.Heavy(t, "this one does not")
			ran = true
		})
		if ran != want {
			t.Errorf("with -run %q the test ran: %t", pattern, ran)
		}
	}
}

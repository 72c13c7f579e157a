package fulltest_test

import (
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

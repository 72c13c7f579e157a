package proctest

import (
	"slices"
	"testing"
)

// TestFreePorts: nobody gets the port of a server that is away for a moment, and everybody when the test has ended.
func TestFreePorts(t *testing.T) {
	const many = 500 // of 10 000: some would be chosen twice
	t.Run("taken", func(t *testing.T) {
		first, second := FreePorts(t, many), FreePorts(t, many)
		all := slices.Sorted(slices.Values(append(first, second...)))
		if n := len(slices.Compact(all)); n != 2*many {
			t.Errorf("%d ports were given twice", 2*many-n)
		}
	})
	given.Range(func(port, _ any) bool {
		t.Errorf("port %v is kept from others after the test", port)
		return true
	})
}

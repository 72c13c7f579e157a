package static_test

import (
	"testing"

	"github.com/unalike-id/unalike/coord/static"
)

// TestLeaseRulesTellHowManyWorkerIDsThereAre so that a generator with more stripes is
// refused before it leases the first.
func TestLeaseRulesTellHowManyWorkerIDsThereAre(t *testing.T) {
	for count, want := range map[int]int{0: 1, 3: 3} {
		c, err := static.New(7, static.Options{Count: count})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Describe().Rules.Workers; got != want {
			t.Errorf("with Count %d there are %d worker IDs, want %d", count, got, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

func TestFreeFrom(t *testing.T) {
	share := coord.Range{First: 10, Count: 5}
	for _, tc := range []struct {
		start int
		owned []int
		n     int
		want  []int
	}{
		{10, nil, 5, []int{10, 11, 12, 13, 14}},
		{13, nil, 5, []int{13, 14, 10, 11, 12}},
		{11, []int{11, 12, 14}, 5, []int{13, 10}},
		{14, []int{10, 14}, 2, []int{11, 12}},
		{12, []int{10, 11, 12, 13, 14}, 5, nil},
		{10, []int{3, 12, 99}, 3, []int{10, 11, 13}},
	} {
		if got := FreeFrom(share, tc.owned, tc.start, tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("from %d, owned %v, at most %d: %v; want %v", tc.start, tc.owned, tc.n, got, tc.want)
		}
	}
}

// TestUnusable: what keeps a worker ID from being granted for good.
func TestUnusable(t *testing.T) {
	req := coord.Request{LastTick: 1000, Scale: clock.Scale{Unit: 1000}, Fingerprint: "f"}
	for _, tt := range []struct {
		name  string
		floor int64
		slot  Slot
		why   string
	}{
		{"it ends as far ahead as right clocks push it", 0, Slot{NotAfter: 500}, ""},
		{
			"it ends further ahead", 0,
			Slot{NotAfter: 501},
			"further ahead than any holder with a right clock",
		},
		{"and the floor too", 600, Slot{NotAfter: 600}, ""},
		{"it was retired", 0, Slot{Retired: true}, "retire it again"},
		{"it has another layout", 0, Slot{Generation: 1, Fingerprint: "g"}, "has layout g"},
		{"a loss has raised the floor to the end", 999, Slot{}, "lower the floor"},
		{"it opens after the end", 1001, Slot{NotAfter: 1001}, "the layout ends at tick 1000"},
	} {
		err := Candidate{7, tt.slot}.Unusable(Meta{Floor: tt.floor}, req, 500)
		if (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.why)
		}
	}
}

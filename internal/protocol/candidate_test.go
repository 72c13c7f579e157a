package protocol

import (
	"slices"
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

func TestFreeFrom(t *testing.T) {
	share := coord.Range{First: 10, Count: 5}
	for _, tc := range []struct {
		ticket int64
		owned  []int
		n      int
		want   []int
	}{
		{0, nil, 5, []int{10, 11, 12, 13, 14}},
		{3, nil, 5, []int{13, 14, 10, 11, 12}},
		{5, nil, 2, []int{10, 11}},
		{1<<62 + 3, nil, 1, []int{10 + int((1<<62+3)%5)}},
		{1, []int{11, 12, 14}, 5, []int{13, 10}},
		{4, []int{10, 14}, 2, []int{11, 12}},
		{2, []int{10, 11, 12, 13, 14}, 5, nil},
		{0, []int{3, 12, 99}, 3, []int{10, 11, 13}},
	} {
		if got := FreeFrom(share, tc.owned, tc.ticket, tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("ticket %d, owned %v, at most %d: %v; want %v", tc.ticket, tc.owned, tc.n, got, tc.want)
		}
	}
}

// Tickets without gaps begin at different places.
func TestTicketsAreDisjoint(t *testing.T) {
	share := coord.Range{Count: 1024}
	seen := map[int]bool{}
	for ticket := range int64(1024) {
		seen[FreeFrom(share, nil, ticket+7, 1)[0]] = true
	}
	if len(seen) != 1024 {
		t.Errorf("1024 tickets begin at %d places", len(seen))
	}
}

func TestRank(t *testing.T) {
	at := func(id int, end int64) Candidate { return Candidate{ID: id, Slot: Slot{NotAfter: end}} }
	req := coord.Request{OpenBy: 100, LastTick: 1000, Scale: clock.Scale{Unit: 1000}}
	for _, tc := range []struct {
		name  string
		floor int64
		all   []Candidate
		want  []int
	}{
		{"in time, as they come", 0, []Candidate{at(1, 100), at(2, 0), at(3, 50)}, []int{1, 2, 3}},
		{"late ones last, the earliest first", 0, []Candidate{at(1, 300), at(2, 200), at(3, 100)}, []int{3, 2, 1}},
		{"a floor makes them equal", 400, []Candidate{at(1, 300), at(2, 200)}, []int{1, 2}},
		{"poisoned", 0, []Candidate{at(1, 501), at(2, 500)}, []int{2}},
		{"beyond the layout", 1001, []Candidate{at(1, 0)}, nil},
	} {
		got, err := Rank(tc.all, Meta{Floor: tc.floor}, req, 500)
		var ids []int
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		if !slices.Equal(ids, tc.want) || len(ids) < len(tc.all) && err == nil {
			t.Errorf("%s: %v, %v; want %v", tc.name, ids, err, tc.want)
		}
	}
}

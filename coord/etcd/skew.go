package etcd

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

const (
	// samples is how many holders a newcomer compares its clock with.
	samples = 9
	// quorum is how many make a reference: of one peer alone, nobody can say who of
	// the two is wrong.
	quorum = 2
)

// checkSkew compares a newcomer's clock with the median of the holders' clocks at
// their last renewals. Those lie in the past, and because the leases are alive,
// not further than a TTL: a right clock is between the median and a TTL later,
// give or take the bound. Times are in microseconds.
func checkSkew(now int64, peers []ownerRecord, bound time.Duration) error {
	if len(peers) < quorum {
		return nil
	}
	renewed := make([]int64, len(peers))
	var age int64
	for i, p := range peers {
		renewed[i] = p.Renewed
		age = max(age, p.TTL*1000)
	}
	slices.Sort(renewed)
	// Of an even number the two in the middle bound the reference.
	low, high := renewed[(len(renewed)-1)/2], renewed[len(renewed)/2]
	reference := min(max(now, low), high+age)
	if d := now - reference; d >= -bound.Microseconds() && d <= bound.Microseconds() {
		return nil
	}
	return &coord.ClockSkewError{Local: record.Time(now), Reference: record.Time(reference), Max: bound}
}

// spread returns up to n indices of 0 to length-1, evenly spread.
func spread(length, n int) []int {
	n = min(n, length)
	out := make([]int, n)
	for i := range out {
		out[i] = i * length / n
	}
	return out
}

package core

const (
	// firstBackoff is how many rounds of nothing, of about a cycle each, follow a
	// compare-and-swap that another core was faster with. The cache line of a state
	// word takes some 50 ns to move between cores; a core that has it for a while
	// stamps a run of IDs at the price of one move, instead of one move each.
	firstBackoff = 1 << 11
	// maxBackoff bounds what a caller that is unlucky again and again loses at a time:
	// some 2 us.
	maxBackoff = 1 << 13
)

// backOff leaves the state word to the others for a moment after the n-th lost
// compare-and-swap of a call, counted from 0: for as long as they take for some fifty
// IDs, and longer each time.
//
// It is not inlined, so that the hot path stays small.
//
//go:noinline
func backOff(n int) {
	for range min(firstBackoff<<min(n, 8), maxBackoff) {
		// Nothing: not a load, which would ask for the line again, and not a yield,
		// which takes longer than the whole wait.
	}
}

package server

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// TestRunsOf: whatever the IDs are, in whatever order, the runs have them all, in that order, and
// none leaves its tick.
func TestRunsOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, bits := range []uint8{1, 2, 4, 12, 20} {
		l := core.DefaultLayout()
		l.SequenceBits = bits
		for range 2000 {
			ids := make([]core.ID, random.IntN(40))
			next := core.ID(random.Int64N(math.MaxInt64 - 1000))
			for i := range ids {
				switch random.IntN(8) {
				case 0:
					next = core.ID(random.Int64N(math.MaxInt64 - 1000))
				case 1:
					next += core.ID(random.IntN(3))
				case 2:
					next = max(next-core.ID(random.IntN(3)), 0)
				default:
					next++
				}
				ids[i] = next
			}
			var got []core.ID
			runs := runsOf(ids, l)
			for _, r := range runs {
				if last := r.First + uint64(r.Count) - 1; r.Count == 0 || r.First>>bits != last>>bits {
					t.Fatalf("%d bits, %v: the run of %d from %d is not of one tick", bits, ids, r.Count, r.First)
				}
				for i := range r.Count {
					got = append(got, core.ID(r.First+uint64(i)))
				}
			}
			if !slices.Equal(got, ids) {
				t.Fatalf("%d bits: %v; want %v", bits, got, ids)
			}
			for i := 1; i < len(runs); i++ {
				if a, b := runs[i-1], runs[i]; a.First+uint64(a.Count) == b.First &&
					b.First>>bits<<bits != b.First {
					t.Fatalf("%d bits, %v: two runs in place of one", bits, ids)
				}
			}
		}
	}
}

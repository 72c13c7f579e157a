package storms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// layouts are those of storms: units of 1, 10 and 100 ms.
var layouts = []string{"", "39/10/14/10ms/2024-01-01T00:00:00Z", "36/10/17/100ms/2024-01-01T00:00:00Z"}

// shared is the number of worker IDs that the generators of a storm share. There are enough for all of them,
// while those of a dead process are still held, too.
const shared = 40

// fleet returns the generators of a storm, process by process: several a process, with shares that overlap,
// equal identities, stripes, leads, and one layout.
func fleet(s *stage.Stage, rng *rand.Rand) (processes [][]worker.Generator, layout string) {
	layout = layouts[rng.IntN(len(layouts))]
	leads := []time.Duration{0, 0, 200 * time.Millisecond, time.Second}
	identities := []string{"", "", "same", "other"}
	for p := range 2 + rng.IntN(3) {
		var generators []worker.Generator
		for i := range 1 + rng.IntN(3) {
			name := fmt.Sprintf("p%dg%d", p, i)
			first, stripes := rng.IntN(3), 1+rng.IntN(3)
			lead, identity := leads[rng.IntN(len(leads))], identities[rng.IntN(len(identities))]
			options := []string{namespace}
			alone := s.Backend.Name() == "static" // a file is one worker ID, and one generator's
			if alone {
				options = append(options, fmt.Sprintf("worker=%d", 3*p+i))
			}
			g := s.Generator(name, options...)
			g.Layout, g.Lead = layout, lead
			if !alone {
				g.First, g.Count, g.Stripes, g.Identity = first, shared, stripes, identity
			}
			g.PerSecond, g.Goroutines = 1000, 2
			generators = append(generators, g)
		}
		processes = append(processes, generators)
	}
	return processes, layout
}

package storms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

const (
	// contenders are the processes of a contended storm, and contested the worker IDs for them: one is missing, so
	// that whatever a holder loses another process takes at once.
	contenders = 4
	contested  = contenders - 1
	// otherHorizon is the horizon of half of them: a loss of state has to be waited out for the longest one.
	otherHorizon = 20 * time.Second
)

// Contended returns a storm in which processes contend for too few worker IDs. It is as long as that of Scenario, and
// hits the same faults with the ticks that two of them want. When it is over, one of them has to issue again: there is
// not enough for all.
func Contended(name string, seed uint64, length time.Duration, backends ...string) stage.Scenario {
	sc := Scenario(name, seed, length, backends...)
	sc.About = fmt.Sprintf("a mixture of all faults for %v, by seed %d, while %d processes contend for %d worker IDs", length, seed, contenders, contested)
	sc.Run = func(s *stage.Stage) {
		st := newStorm(s, seed, contendedFleet)
		st.few = true
		st.run(length)
	}
	return sc
}

// contendedFleet returns the generators of a contended storm, one in each process.
func contendedFleet(s *stage.Stage, _ *rand.Rand) (processes [][]worker.Generator, layout string) {
	for p := range contenders {
		options, horizon := []string{namespace}, stage.Horizon
		if p%2 == 1 {
			horizon = otherHorizon
		}
		if s.Backend.Name() == "static" {
			options = append(options, fmt.Sprintf("worker=%d", p%contested))
		} else {
			options = append(options, "horizon="+horizon.String())
		}
		g := s.Generator(fmt.Sprintf("p%d", p), options...)
		if s.Backend.Name() != "static" {
			g.Count, g.Horizon = contested, horizon
		}
		g.PerSecond, g.Goroutines, g.UntilClosed = 4000, 4, true
		processes = append(processes, []worker.Generator{g})
	}
	return processes, ""
}

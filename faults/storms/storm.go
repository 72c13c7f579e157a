package storms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Times of a storm.
const (
	// SettleTime is how long generators may take to issue again once everything is healed: the longest lease and
	// window, a quarantine of an operator or after a loss of state, and a slow machine.
	SettleTime = 75 * time.Second
	// endTime is how long a process may take to end in good order while the coordinator may be away.
	endTime = 10 * time.Second
	// setUpTime is for the start of servers and for the verdict.
	setUpTime = 2 * time.Minute
)

// Scenario returns the storm of a seed on some back ends: it lasts so long, and then everything is healed and every
// generator has to issue again.
func Scenario(name string, seed uint64, length time.Duration, backends ...string) stage.Scenario {
	return stage.Scenario{
		Number: Number, Name: name, Backends: backends,
		About:  fmt.Sprintf("a mixture of all faults for %v, by seed %d; then all generators issue again", length, seed),
		MinIDs: 1000, Recovery: SettleTime, Budget: length + SettleTime + setUpTime,
		Rules: rules(backends),
		Run:   func(s *stage.Stage) { newStorm(s, seed, fleet).run(length) },
	}
}

// namespace is the option of a URL with the namespace of storms, which have layouts of their own.
const namespace = "namespace=storm"

// Number is the number of storms in the list of scenarios.
const Number = 40

// storm is one run.
type storm struct {
	*stage.Stage
	seed    uint64
	rng     *rand.Rand
	fleet   [][]worker.Generator
	workers []*worker.Worker
	clocks  []*worker.ClockFile
	held    *proxytest.Held
	stopped backend.Server // that is frozen alone
	few     bool           // there are too few worker IDs for all
}

// newStorm starts the processes of a seed. Fleet says which, and their layout.
func newStorm(s *stage.Stage, seed uint64, fleet func(*stage.Stage, *rand.Rand) ([][]worker.Generator, string)) *storm {
	s.Helper()
	st := &storm{Stage: s, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
	var layout string
	st.fleet, layout = fleet(s, st.rng)
	s.Init(s.Backend.URL(namespace), layout)
	for p, generators := range st.fleet {
		if clocked[s.Backend.Name()] {
			c, err := worker.NewClockFile(fmt.Sprintf("%s/clock-%d", s.TempDir(), p))
			if err != nil {
				s.Fatal(err)
			}
			st.clocks = append(st.clocks, c)
		}
		for _, g := range generators {
			s.Logf("process %d has generator %s: worker IDs from %d, %d stripes, layout %q, lead %v, identity %q", p, g.Name, g.First, max(g.Stripes, 1), g.Layout, g.Lead, g.Identity)
		}
		st.workers = append(st.workers, nil)
		st.start(p)
	}
	return st
}

// start starts a process.
func (st *storm) start(p int) {
	st.Helper()
	spec := worker.Spec{Generators: st.fleet[p]}
	if len(st.clocks) > 0 {
		spec.ClockFile = st.clocks[p].Path
	}
	st.workers[p] = st.Start(fmt.Sprintf("process-%d", p), spec)
}

// run lets the storm happen, and waits until all is well again.
func (st *storm) run(length time.Duration) {
	st.Helper()
	began := time.Now()
	for _, e := range plan(st.rng, length, targets(st.Backend, len(st.fleet))) {
		if wait := e.At - time.Since(began); wait > 0 {
			st.Sleep(wait)
		}
		st.Log(e)
		st.happen(e)
	}
	if left := length - time.Since(began); left > 0 {
		st.Sleep(left)
	}
	healed := journal.Now()
	st.Logf("%v of storm are over, %d IDs were issued; now all have to issue again", length, st.Issued())
	if st.few {
		st.Recovered(healed, st.workers...)
		return
	}
	for _, w := range st.workers {
		st.Recovered(healed, w)
	}
}

func process(p int) string { return fmt.Sprintf("process %d", p) }
func clockOf(p int) string { return fmt.Sprintf("clock %d", p) }

package storms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/verdict"
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
		Run: func(s *stage.Stage) {
			st := newStorm(s, seed, mixed)
			st.run(length, plan(st.rng, length, targets(st.Backend, len(st.fleet))))
		},
	}
}

// namespace is the option of a URL with the namespace of storms, which have layouts of their own.
const namespace = "namespace=storm"

// Number is the number of storms in the list of scenarios.
const Number = 40

// storm is one run.
type storm struct {
	*stage.Stage
	rng     *rand.Rand
	fleet   [][]worker.Generator
	workers []*worker.Worker // by process
	all     []*worker.Worker // the dead ones, too
	ending  []chan struct{}  // by process: closed when it has ended that was told to; nil: it was not
	frozen  map[int]bool     // by process
	clocks  []*worker.ClockFile
	held    *proxytest.Held // on the way of all processes; nil: none
	stopped backend.Server  // that is frozen alone
	checked time.Time

	// Of contended storms.
	few         bool          // there is a worker ID too few for all
	inTurn      bool          // processes are hit in turn, and not at any time
	patient     bool          // Redis does not refuse requests because of their age
	calm        time.Duration // by how much the pauses between faults are longer than in the wildest storm
	longest     time.Duration // horizon
	lines       []*line       // by process; empty: there are none
	behind      *line         // that of a process that does not learn of a loss
	newest      *newest
	stopSending func()
	snapshot    string
}

// newStorm starts the processes of a seed. Fleet makes them, and returns their layout.
func newStorm(s *stage.Stage, seed uint64, fleet func(*storm) string) *storm {
	s.Helper()
	st := &storm{Stage: s, frozen: map[int]bool{}, rng: rand.New(rand.NewPCG(seed, 1)), checked: time.Now()}
	layout := fleet(st)
	s.Init(s.Backend.URL(namespace), layout)
	for p, generators := range st.fleet {
		if clocked[s.Backend.Name()] && len(st.lines) == 0 {
			c, err := worker.NewClockFile(fmt.Sprintf("%s/clock-%d", s.TempDir(), p))
			if err != nil {
				s.Fatal(err)
			}
			st.clocks = append(st.clocks, c)
		}
		for _, g := range generators {
			s.Logf("process %d has generator %s: %d worker IDs from %d, %d stripes, layout %q, lead %v, horizon %v, identity %q, %s",
				p, g.Name, g.Count, g.First, max(g.Stripes, 1), g.Layout, g.Lead, g.Horizon, g.Identity, g.URL)
		}
		st.workers, st.ending = append(st.workers, nil), append(st.ending, nil)
		st.start(p)
		if st.few && p < len(st.fleet)-1 {
			st.AwaitIssued(st.workers[p], 1) // so that the last one is without a worker ID, and not any of them
		}
	}
	return st
}

// start starts a process.
func (st *storm) start(p int) {
	st.Helper()
	if st.ending[p] != nil {
		<-st.ending[p]
		st.ending[p] = nil
	}
	spec := worker.Spec{Generators: st.fleet[p]}
	if len(st.clocks) > 0 {
		spec.ClockFile = st.clocks[p].Path
	}
	st.workers[p] = st.Start(fmt.Sprintf("process-%d", p), spec)
	st.all = append(st.all, st.workers[p])
}

// run lets the storm happen, and waits until all is well again.
func (st *storm) run(length time.Duration, events []Event) {
	st.Helper()
	began := time.Now()
	for _, e := range events {
		st.until(began.Add(e.At))
		st.Log(e)
		st.happen(e)
	}
	st.until(began.Add(length))
	st.Logf("%v of storm are over, %d IDs were issued; now all have to issue again", length, st.Issued())
	st.check()
	calm := st.workers
	if st.few {
		last := len(calm) - 1
		st.end(last)
		<-st.ending[last]
		calm = calm[:last]
	}
	healed := journal.Now()
	for _, w := range calm {
		st.Recovered(healed, w)
	}
}

// checkEvery is how often it is checked during a storm whether an ID was issued twice.
const checkEvery = 5 * time.Second

// until waits until a time, and checks meanwhile.
func (st *storm) until(t time.Time) {
	st.Helper()
	for {
		next := st.checked.Add(checkEvery)
		if next.After(t) {
			break
		}
		st.Sleep(time.Until(next))
		st.check()
	}
	st.Sleep(time.Until(t))
}

// check ends a storm in which an ID was issued twice: what comes then shows nothing more. The verdict says what
// happened.
func (st *storm) check() {
	st.Helper()
	st.checked = time.Now()
	var journals []*journal.Reader
	for _, w := range st.all {
		for _, path := range w.Journals() {
			// One that is just being made cannot be read yet. The verdict opens all of them again, and minds.
			if j, err := journal.Open(path); err == nil {
				defer j.Close() // it is only read
				journals = append(journals, j)
			}
		}
	}
	if v, err := verdict.Merge(journals); err == nil && v.Found[verdict.Duplicate]+v.Found[verdict.SharedTick] > 0 {
		st.Fatalf("the storm ends here: %s", v.Findings[0].Text)
	}
}

func process(p int) string { return fmt.Sprintf("process %d", p) }
func clockOf(p int) string { return fmt.Sprintf("clock %d", p) }

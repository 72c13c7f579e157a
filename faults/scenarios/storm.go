package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// With returns all scenarios. Storms have another seed and another length, if these are not 0.
func With(seed uint64, length time.Duration) []stage.Scenario {
	all := slices.Concat(processes, outages, losses, stateFiles, segments, service, ring)
	for _, w := range storms {
		w.seed, w.length = cmp.Or(seed, w.seed), cmp.Or(length, w.length)
		all = append(all, w.scenario())
	}
	return all
}

// Shortest is the length below which little can happen in a storm.
const Shortest = 10 * time.Second

// weather is what a storm is made of.
type weather struct {
	name            string
	seed            uint64
	length          time.Duration // in the short set a third of that
	state           bool          // each generator has a state file
	contended       bool          // there is a worker ID too few for all processes
	backends, short []string
}

// storms mix all faults: a seed decides which processes and generators there are, and what happens
// to them, to the network, to the servers and to their clocks, and when. A seed repeats its
// schedule; what the processes do meanwhile is up to the machine.
var storms = []weather{
	{
		name: "storm", seed: 1, length: 2 * time.Minute,
		backends: with(single, "etcd3", "embedded", "zk3", "static", "file", "sentinel", "cluster"),
		short:    []string{"static", "kubernetes"},
	},
	{
		name: "storm-state", seed: 7, length: time.Minute, state: true,
		backends: []string{"etcd", "etcd3", "zk", "postgres", "mariadb", "kubernetes"},
	},
	{
		name: "storm-contended", seed: 6, length: time.Minute, contended: true,
		backends: with(single, "etcd3"), short: []string{"etcd"},
	},
}

// stormNamespace is the option of URLs for the namespace of a storm, which has a layout of its own.
const stormNamespace = "namespace=storm"

// settleTime is how long generators may take to issue again once everything is healed: the longest
// lease and window, a quarantine of an operator or after a loss of state, and a slow machine.
const settleTime = 75 * time.Second

// scenario returns the storm: it lasts so long, and then everything is healed and every generator
// has to issue again.
func (w weather) scenario() stage.Scenario {
	return stage.Scenario{
		Name: w.name, Backends: w.backends, Short: w.short,
		About: fmt.Sprintf("a mixture of all faults for %v, by seed %d; then all generators "+
			"issue again", w.length, w.seed),
		Recovery: settleTime, Budget: w.length + settleTime + 2*time.Minute,
		Run: func(s *stage.Stage) {
			st := &storm{Stage: s, weather: w, rng: rand.New(rand.NewPCG(w.seed, 1))}
			if s.Short {
				st.length /= 3
			}
			st.launch()
			st.run()
		},
	}
}

// storm is one run.
type storm struct {
	*stage.Stage
	weather
	rng       *rand.Rand
	processes []*process
}

// process is one process of a storm.
type process struct {
	spec   worker.Spec
	way    backend.Way // of its own to the servers; empty: there is none
	clock  worker.ClockFile
	worker *worker.Worker
	ending sync.WaitGroup // waits for one that was told to end
}

// launch starts the processes: several generators each, shares of worker IDs that overlap, equal
// identities, stripes, leads, and one layout with units of 1, 10 or 100 ms.
func (st *storm) launch() {
	layout, err := core.ParseLayout(oneOf(st.rng, "default",
		"39/10/14/10ms/2024-01-01T00:00:00Z", "36/10/17/100ms/2024-01-01T00:00:00Z"))
	if err != nil {
		st.Fatal(err)
	}
	if !st.On("static") {
		backend.Declare(st, st.Backend.URL(stormNamespace), layout.Space())
	}
	n := 2 + st.rng.IntN(3)
	for i := range n {
		p := &process{}
		st.Cleanup(p.ending.Wait)
		if len(st.Backend.Way) > 0 && !st.On("cluster") {
			p.way = backend.StartWay(st, st.Backend.Way.Addrs()...)
		}
		p.clock = st.Clock()
		p.spec.ClockFile = p.clock.Name()
		generators := 1 + st.rng.IntN(3)
		if st.contended {
			generators = 1
		}
		for j := range generators {
			g := st.generator(i, j, n)
			g.Layout = layout
			g.URL = elsewhere(st.Backend, g.URL, p.way)
			p.spec.Generators = append(p.spec.Generators, g)
			st.Logf("process %d has %+v", i, g)
		}
		st.processes = append(st.processes, p)
		p.start(st)
	}
}

// generator returns the j-th generator of the i-th of n processes.
func (st *storm) generator(i, j, n int) worker.Generator {
	g := st.Generator(fmt.Sprintf("p%dg%d", i, j), append(own(st.Stage, 3*i+j), stormNamespace)...)
	g.PerSecond = 1000
	g.Lead = oneOf(st.rng, 0, 0, 200*time.Millisecond, time.Second)
	g.Identity = oneOf(st.rng, "", "", "same", "other")
	if !st.On("static") {
		// enough for all, and for the dead
		g.First, g.Count, g.Stripes = st.rng.IntN(3), 40, 1+st.rng.IntN(3)
	}
	if st.contended {
		g.First, g.Count, g.Stripes, g.Identity = 0, n-1, 0, ""
		g.PerSecond, g.UntilClosed = 2000, true // an ID in each tick, by each goroutine
	}
	if st.state {
		g.State, g.StartTime = filepath.Join(st.TempDir(), "state"), 5*time.Second
	}
	return g
}

// oneOf returns one of some values.
func oneOf[T any](rng *rand.Rand, values ...T) T {
	return values[rng.IntN(len(values))]
}

// between returns a time from low up to high.
func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}

// start starts a process when the one before it has ended.
func (p *process) start(st *storm) {
	p.ending.Wait()
	p.worker = st.Start("process", p.spec)
}

// end has a process end in good order, and does not wait until it has. One that cannot, because it
// cannot reach the coordinator, is killed.
func (p *process) end(st *storm) {
	w := p.worker
	p.ending.Go(func() {
		if err := w.End(10 * time.Second); err != nil {
			st.Logf("process %d: %v", w.PID(), err)
		}
	})
}

// target is something to which faults happen, one at a time.
type target struct {
	name   string
	faults []fault
}

// targets returns what can happen, and to what. Nothing there makes a back end lose what it has
// confirmed, unless it notices that itself.
func (st *storm) targets() (all []target) {
	for i, p := range st.processes {
		start := func() { p.start(st) }
		killed := fault{name: "kill -9", begin: func() { p.worker.Kill() }, end: start}
		frozen := fault{name: "SIGSTOP", begin: func() {
			p.worker.Freeze(st)
		}, end: func() { p.worker.Thaw(st) }}
		ended := fault{name: "SIGTERM", begin: func() { p.end(st) }, end: start}
		all = append(all, target{
			fmt.Sprint("process ", i),
			[]fault{killed, killed, ended, frozen, frozen},
		})
		if !st.contended {
			all = append(all, target{fmt.Sprint("clock ", i), []fault{{name: "a step", begin: func() {
				p.clock.Set(between(st.rng, -15*time.Second, 15*time.Second))
			}, end: func() { p.clock.Set(0) }}}})
		}
		if p.way != nil {
			all = append(all, target{fmt.Sprint("line ", i), network(st.Stage, p.way)})
		}
	}
	if way := st.Backend.Way; way != nil {
		all = append(all, target{"network", network(st.Stage, way)})
	}
	if len(st.Backend.Servers) > 0 {
		all = append(all, target{"servers", st.servers()}, target{
			"operator", []fault{{name: "a quarantine", begin: st.quarantine, end: func() {}}},
		})
	}
	return all
}

// servers returns what can happen to the servers.
func (st *storm) servers() []fault {
	b := st.Backend
	all := servers(st.Stage, true)
	if len(b.Servers) > 1 {
		all = append(all, fault{name: "kill -9 of one", begin: func() {
			oneOf(st.rng, b.Servers...).Kill()
		}, end: b.Restart})
	}
	return all
}

// quarantine has an operator raise the floor by some seconds. That it cannot be done is no failure.
func (st *storm) quarantine() {
	ctx, cancel := context.WithTimeout(st.Context(), 2*time.Second)
	defer cancel()
	c, err := coord.Open(ctx, st.Backend.URL(stormNamespace), coord.OpenOptions{})
	if err == nil {
		_, err = c.(coord.AdminCoordinator).Quarantine(ctx,
			time.Now().Add(between(st.rng, 0, 5*time.Second)))
		_ = c.Close() // its work is done
	}
	if err != nil {
		st.Logf("no quarantine: %v", err)
	}
}

// event is something that begins or ends during a storm.
type event struct {
	at   time.Duration // after the storm has begun
	text string
	do   func()
}

// plan returns the events of a storm, in the order in which they happen. Every fault that begins
// also ends within the storm. Faults of one target never overlap; those of different ones do.
func plan(rng *rand.Rand, length time.Duration, targets []target) (events []event) {
	for _, t := range targets {
		at := 3*time.Second + between(rng, 0, 8*time.Second) // so that every generator has its worker IDs
		for {
			f := oneOf(rng, t.faults...)
			lasts := between(rng, 100*time.Millisecond, 14*time.Second)
			if rng.IntN(2) == 0 {
				lasts = between(rng, 100*time.Millisecond, time.Second)
			}
			if at+lasts > length {
				break
			}
			events = append(events,
				event{at, fmt.Sprintf("%s: %s begins", t.name, f.name), f.begin},
				event{at + lasts, fmt.Sprintf("%s: %s ends", t.name, f.name), f.end})
			at += lasts + between(rng, 500*time.Millisecond, 8*time.Second)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}

// run lets the storm happen, and waits until all is well again.
func (st *storm) run() {
	began := time.Now()
	events := plan(st.rng, st.length, st.targets())
	for _, e := range events {
		st.Sleep(time.Until(began.Add(e.at)))
		st.Logf("%v: %s", e.at, e.text)
		e.do()
	}
	st.Sleep(time.Until(began.Add(st.length)))
	st.Logf("the storm is over, %d IDs were issued; now all have to issue again", st.Issued())
	if len(events) == 0 || st.Issued() == 0 {
		st.Error("nothing has happened, or nothing was issued")
	}
	calm := st.processes
	if st.contended { // one worker ID is missing
		last := calm[len(calm)-1]
		last.end(st)
		last.ending.Wait()
		calm = calm[:len(calm)-1]
	}
	healed := journal.Now()
	for _, p := range calm {
		st.Recovered(healed, p.worker)
	}
}

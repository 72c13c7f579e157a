package storms

import (
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

const (
	// fewest and most are how many processes a contended storm has. One worker ID fewer than processes, so that
	// whatever a holder loses another process takes at once.
	fewest, most = 2, 4
	// calmest is by how much the pauses between faults are longer in the calmest storms than in the wildest: some
	// mistakes show where much happens, and some where a process is left alone for long enough.
	calmest = 4
	// patience is a skew bound with which Redis does not refuse a request because of its age.
	patience = 25 * time.Second
	// rollbackTime is how much longer generators may take to issue again after a rollback: etcd and ZooKeeper have
	// them wait for the longest horizon that there may be.
	rollbackTime = 2 * time.Minute
)

// horizons are those of the processes of a contended storm: a loss of state has to be waited out for the longest.
var horizons = []time.Duration{6 * time.Second, 6 * time.Second, stage.Horizon, 20 * time.Second}

// Times of contended storms. Holders are cut off for longer than a lease, and often for longer than a window; what
// happens to all of them at once is short.
var (
	restless         = times{gap: span{2 * time.Second, 14 * time.Second}, lasts: span{100 * time.Millisecond, 8 * time.Second}}
	cuts             = times{gap: span{2 * time.Second, 14 * time.Second}, lasts: span{time.Second, 15 * time.Second}}
	lates            = times{gap: span{500 * time.Millisecond, 6 * time.Second}, lasts: span{100 * time.Millisecond, time.Second}}
	contendedServers = times{gap: span{3 * time.Second, 15 * time.Second}, lasts: span{100 * time.Millisecond, 2 * time.Second}}
	// seldom is for servers that take every restart for a loss of state: nothing is granted for some time then.
	seldom  = times{gap: span{25 * time.Second, time.Minute}, lasts: contendedServers.lasts}
	repeats = times{gap: span{time.Second, 6 * time.Second}, lasts: span{time.Second, 10 * time.Second}}
)

// Contended returns a storm in which processes contend for too few worker IDs, and are cut off one by one: it hits
// the ticks that two of them want. When it is over, one process ends, and all others have to issue again.
func Contended(name string, seed uint64, length time.Duration, backends ...string) stage.Scenario {
	sc := Scenario(name, seed, length, backends...)
	sc.About = fmt.Sprintf("processes that contend for too few worker IDs and are cut off one by one, for %v, by seed %d; then all but one issue again", length, seed)
	sc.Budget += rollbackTime
	sc.Rules = []history.Rule{history.LeasesLost, history.StateLost}
	sc.Run = func(s *stage.Stage) {
		st := newStorm(s, seed, contended)
		events := plan(st.rng, length, st.contendedTargets())
		if st.inTurn {
			events = merge(events, relay(st.rng, length, len(st.lines)))
		}
		st.run(length, events)
	}
	return sc
}

// contended starts the generators of a contended storm, one in each process, with a line of its own where that can be.
func contended(st *storm) (layout string) {
	b, n := st.Backend, fewest+st.rng.IntN(most-fewest+1)
	alone := b.Name() == "static" // a file is one worker ID
	skew := stage.SkewBound
	if _, ok := b.(backend.Flusher); ok {
		st.patient = st.rng.IntN(2) == 0
	}
	st.few, st.calm = true, 1+time.Duration(st.rng.IntN(calmest))
	if st.patient {
		skew = patience
	}
	st.lay(n)
	st.inTurn = st.rng.IntN(2) == 0 && len(st.lines) > 0
	for p := range n {
		horizon := horizons[st.rng.IntN(len(horizons))]
		options := []string{namespace}
		switch {
		case alone:
			options = append(options, fmt.Sprintf("worker=%d", p%(n-1)))
		case b.Name() == "embedded": // it has no skew to set
			options = append(options, "horizon="+horizon.String())
		default:
			options = append(options, "horizon="+horizon.String(), "skew="+skew.String())
		}
		g := st.Generator(fmt.Sprintf("p%d", p), options...)
		g.URL = st.along(p, g.URL)
		if !alone {
			g.Count, g.Horizon, g.Identity = n-1, horizon, identity(p)
		}
		g.PerSecond, g.Goroutines, g.UntilClosed = 2000, 2, true // an ID in each tick, by each goroutine
		st.fleet = append(st.fleet, []worker.Generator{g})
		st.longest = max(st.longest, horizon)
	}
	return ""
}

// contendedTargets returns what can happen in a contended storm.
func (st *storm) contendedTargets() map[string]target {
	b, all := st.Backend, targets(st.Backend, len(st.fleet))
	for p := range st.fleet {
		delete(all, clockOf(p)) // the clocks of other storms step
		all[process(p)] = target{[]string{killed, terminated, terminated, frozen}, restless.calmer(st.calm)}
	}
	if len(b.Servers()) == 0 {
		return all
	}
	happens, often := servers(b), contendedServers
	_, forgets := b.(backend.Flusher)
	switch {
	case forgets && st.patient:
		happens = []string{frozen} // what a loss of state would take to wait out is nearly as long as the storm
	case forgets:
		often = seldom
	}
	if len(st.lines) == 0 {
		all["servers"] = target{happens, often}
		return all
	}
	if !st.patient {
		happens = append(happens, rollback, rollback)
	}
	if _, ok := b.(backend.Layered); ok {
		happens = append(happens, rolledBelow, rolledBelow)
	}
	if i := slices.Index(happens, flush); i >= 0 {
		happens = slices.Replace(happens, i, i+1, flushBehind, flushBehind)
	}
	all["servers"] = target{happens, often}
	delete(all, "network")
	for p := range st.lines {
		all[lateOn(p)] = target{[]string{heldRequest}, lates}
		if st.inTurn {
			delete(all, process(p))
			continue
		}
		all[lineOf(p)] = target{[]string{lostAll, lostAll, lostAll, lostRequests, lostReplies, slowRequests, slowReplies, refused, reset, lostAcks}, cuts.calmer(st.calm)}
	}
	if standAlone(b) {
		all["requests"] = target{[]string{repeated}, repeats}
	}
	return all
}

// identity is that of a process in a contended storm. Of all requests at Redis, only those of
// acquisitions have it; in Kubernetes all that write the slot of that process.
func identity(p int) string { return fmt.Sprintf("contender-%d-", p) }

package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// losses are scenarios in which servers lose what they have confirmed.
var losses = []stage.Scenario{{
	Name: "losses",
	About: "an older copy of the data comes back, everything is deleted in each way that there is, " +
		"a replica without the last writes becomes the primary: a quarantine each time, no more and " +
		"no less, and IDs after it, also of a holder that was forgotten and of a newcomer",
	Backends: with(single, "etcd3", "zk3", "sentinel", "cluster"),
	Short:    []string{"etcd", "zk", "kubernetes", "sentinel"},
	Recovery: lossTime, Budget: 12 * time.Minute,
	Run: runLosses,
}}

const (
	// longReach and redisReach are MaxHorizon: how far windows can reach that were forgotten.
	longReach, redisReach = 2 * time.Minute, 30 * time.Second
	// noticeLoss is how long it may take until holders notice a loss and can go on after the
	// quarantine: ZooKeeper refuses clients that have seen more until their session is given up;
	// then come the renewal that notices and the skew bound, once for the clocks and once for
	// whoever raises the floor.
	noticeLoss = stage.TTLKeeper + stage.RenewalTime + 2*stage.SkewBound + busyTime
	// lossTime is how long a holder may take to its next ID after a loss.
	lossTime = longReach + noticeLoss
)

// forgetful are the back ends that take the end of their servers for a loss.
var forgetful = []string{"redis", "sentinel", "cluster"}

// maxHorizon returns how far windows can reach that the servers have forgotten.
func maxHorizon(s *stage.Stage) time.Duration {
	if slices.Contains(forgetful, s.Backend.Name) {
		return redisReach
	}
	return longReach
}

// noticed waits until the calls of each worker fail, because nothing is granted since a moment.
func noticed(s *stage.Stage, since int64, workers ...*worker.Worker) {
	for _, w := range workers {
		// A holder whose worker ID was forgotten gets another one, with a window behind the
		// quarantine.
		e := s.AwaitMatch(w, "a quarantine", func(e worker.Event) bool {
			return e.At >= since && (e.Is(worker.Failed, coord.ErrQuarantined) ||
				e.Is(worker.Failed, core.ErrWindowNotOpen))
		})
		s.Logf("process %d: %s", w.PID(), e.Text)
		if took := time.Duration(e.At - since); took > windowTime+resumeTime {
			// the servers take their time to start
			s.Errorf("process %d could issue for %v after the loss; its window is %v",
				w.PID(), took, stage.Horizon)
		}
	}
	quiet(s, workers...)
}

// resumed waits until each worker issues IDs again after a quarantine, and goes on. What caused
// that has happened between two moments, began and ended. Windows that were open then have ended by
// [windowTime] after, and no ID may be issued from then on until the quarantine has taken its time.
func resumed(s *stage.Stage, began, ended int64, workers ...*worker.Worker) {
	s.Scenario.Recovery = maxHorizon(s) + noticeLoss
	stood := ended + int64(windowTime)
	s.Excuse(began, ended+int64(s.Scenario.Recovery))
	for _, w := range workers {
		s.Until(func() bool { return w.Last() > stood }, "process %d issues IDs again", w.PID())
		s.RecoveredIn(time.Duration(firstAfter(s, w, stood) - ended))
	}
	silent(s, stood, began+int64(maxHorizon(s)), workers...)
	if slices.Contains(forgetful, s.Backend.Name) {
		usedToTheEnd(s, began, ended, stood, workers...)
	}
	s.AwaitMore(issuedEach, workers...)
	s.Uninterrupted(silence)
}

// usedToTheEnd fails the stage if a worker was without IDs for longer than it takes from the end of
// its window to that of the quarantine: a holder whose grant was forgotten uses its window to the
// end. By stood all windows have ended that were open at the loss.
func usedToTheEnd(s *stage.Stage, began, ended, stood int64, workers ...*worker.Worker) {
	most := time.Duration(ended-began) + maxHorizon(s) + 2*stage.SkewBound + stage.RenewalTime -
		stage.Horizon + busyTime
	for _, w := range workers {
		last := int64(0)
		for run := range s.Runs(w) {
			if run.At <= stood {
				last = max(last, run.At)
			}
		}
		if last < began { // it has only started since
			continue
		}
		gap := time.Duration(firstAfter(s, w, stood) - last)
		s.Logf("process %d was without IDs for %v", w.PID(), gap)
		if gap > most {
			s.Errorf("process %d was without IDs for %v after a loss; at most %v is promised", w.PID(), gap,
				most)
		}
	}
}

// raised waits until holders have raised the floor for a loss, as far as windows reach.
func raised(s *stage.Stage) {
	want := time.Now().Add(maxHorizon(s) - windowTime)
	c := opened(s, s.Backend.URL())
	defer c.Close()
	var ns coord.Namespace
	s.Until(func() bool {
		var err error
		ns, err = c.(coord.AdminCoordinator).Inspect(s.Context())
		return err == nil && !ns.Floor.Before(want)
	}, "the floor is %v at least", want)
	s.Logf("nothing is granted before %v, for what was lost before %v", ns.Floor, ns.Lost)
}

// runLosses has everything lost that can be lost, in each way.
func runLosses(s *stage.Stage) {
	workers := holders(s, s.Backend, "one", "two")
	all := s.Backend.Losses
	// A newcomer need not be told of a copy that is older than a TTL: it waits until the others have
	// noticed.
	aged := s.On("etcd", "etcd3", "zk", "zk3")
	if !s.On("sentinel") {
		var snapshot string
		all = slices.Insert(slices.Clone(all), 0, backend.Loss{
			Name: "an older copy comes back",
			Keep: func() { snapshot = s.Backend.Snapshot() },
			Do:   func() { s.Backend.Restore(snapshot) },
		})
	}
	for _, loss := range all[:s.Rounds(len(all), 1)] {
		s.Logf("%s", loss.Name)
		if loss.Keep != nil {
			loss.Keep()
		}
		workers = append(workers, holders(s, s.Backend, "forgotten")...)
		if aged {
			s.Sleep(s.TTL() + 2*stage.SkewBound)
		}
		lose(s, loss, aged, workers)
	}
}

// lose has a loss happen to workers.
func lose(s *stage.Stage, loss backend.Loss, aged bool, workers []*worker.Worker) {
	began := journal.Now()
	loss.Do()
	ended := journal.Now()
	if !aged {
		noticed(s, began, workers...)
	}
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	if s.Short && maxHorizon(s) == longReach {
		raised(s)
		quiet(s, newcomer) // the others may be inside their old windows
		s.Excuse(began, journal.Now())
	} else {
		resumed(s, began, ended, append(workers, newcomer)...)
	}
	if at := firstAfter(s, newcomer, 0); newcomer.Issued() > 0 && at < began+int64(maxHorizon(s)) {
		safetytest.Of(s).Errorf("a newcomer has issued an ID %v after the loss; it has a window after %v",
			time.Duration(at-began), maxHorizon(s))
	}
	newcomer.Terminate(s)
}

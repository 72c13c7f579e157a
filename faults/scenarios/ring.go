package scenarios

import (
	"errors"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// members are the back ends of the ring. The first one follows the last one.
var members = []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes", "file"}

var ring = []stage.Scenario{{
	Name: "ring",
	About: "a namespace moves to the next kind of back end under load, while one of its " +
		"holders is cut off and goes on in its window, until it is back where it began: no " +
		"ID twice, and all of each back end above all before",
	Backends: members[:1], Recovery: moveTime, Budget: 10 * time.Minute,
	Run: runRing,
}}

// moveTime is how long a move may take from the end of the generators to the first ID: the lease of
// the holder that is cut off, or of one that was killed, its window, and the start of the others.
const moveTime = stage.TTLKeeper + takeOverTime + 2*handoverTime

// runRing moves from one back end to the next.
func runRing(s *stage.Stage) {
	var highest core.ID
	at := s.Backend
	workers := holders(s, at, at.Name, at.Name)
	for i := range len(members) {
		name := members[(i+1)%len(members)]
		s.Logf("the namespace moves from %s to %s", at.Name, name)
		next := backend.Start(s, name)
		cutOff := cut(s, at)
		s.AwaitMore(issuedEach, workers...)
		began := journal.Now()
		workers[0].Terminate(s)
		workers[1].Kill()
		move(s, at, next)
		if len(at.Way) > 0 && cutOff.Last() < began {
			s.Errorf("the holder at %s that is cut off has not gone on in its window", at.Name)
		}
		old := slices.Concat(workers, []*worker.Worker{cutOff})
		workers = holders(s, next, name, name)
		s.Recovered(began, workers...)
		cutOff.Kill()
		highest = above(s, highest, old)
		at.Each(backend.Server.Kill) // nobody needs it any more
		at = next
	}
	above(s, highest, workers)
}

// cut starts a holder and cuts it off: it issues to the end of its window. One of a file, which has
// no network before it, is killed.
func cut(s *stage.Stage, b *backend.Backend) *worker.Worker {
	g := s.GeneratorOn(b, "cut-off")
	way := backend.StartWay(s, b.Way.Addrs()...)
	g.URL = elsewhere(b, g.URL, way)
	w := s.Worker("cut-off", g)
	s.AwaitMore(issuedEach, w)
	way.Each((*proxytest.Proxy).Hang)
	if len(way) == 0 {
		w.Kill()
	}
	return w
}

// move has the next back end follow, as an operator does: as soon as no worker ID is held.
func move(s *stage.Stage, from, to *backend.Backend) {
	prev, next := opened(s, from.URL()), opened(s, to.URL())
	defer prev.Close()
	defer next.Close()
	space := core.DefaultLayout().Space()
	var floor time.Time
	s.Until(func() bool {
		var err error
		floor, err = follow.Namespace(s.Context(), next, prev, space)
		var heldStill *follow.HeldError
		if err != nil && !errors.As(err, &heldStill) && !errors.Is(err, coord.ErrQuarantined) {
			s.Fatal(err)
		}
		return err == nil
	}, "%s can follow %s", to.Name, from.Name)
	s.Logf("%s grants from %v on", to.Name, time.Until(floor))
}

// above fails the stage if an ID of some workers is not above all IDs before, and returns the
// highest of them.
func above(s *stage.Stage, before core.ID, workers []*worker.Worker) (highest core.ID) {
	lowest := core.DefaultLayout().MaxID()
	for run := range s.Runs(workers...) {
		lowest, highest = min(lowest, run.First), max(highest, run.Last())
	}
	if lowest <= before {
		safetytest.Of(s).Errorf("ID %d was issued after the move; those before reach to %d", lowest,
			before)
	}
	return highest
}

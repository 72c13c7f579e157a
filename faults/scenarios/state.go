package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// stateFiles are scenarios of processes with a state file.
var stateFiles = []stage.Scenario{{
	Name: "state-files",
	About: "outages of three TTLs with kill -9 and SIGTERM in them, and kill -9 while the servers " +
		"answer, again and again: who is not restarted notices nothing, and who is goes on with the " +
		"same worker ID, above the mark",
	Backends: with(single, "etcd3", "zk3", "cluster"), Short: []string{"etcd", "zk"},
	Recovery: goOnTime, Budget: 8 * time.Minute,
	Run: runState,
}}

const (
	// goOnTime is how long a process with a state file may take to its first ID after the one
	// before it was killed: until its clock has passed the mark, for which it does not wait longer
	// if the back end was asked in vain meanwhile.
	goOnTime = keeper.MarkAhead + handoverTime
	// stateHorizon is the horizon of generators that bridge an outage and what happens in it, on
	// every back end.
	stateHorizon = 25 * time.Second
)

// withState returns a generator with a state file in a folder.
func withState(s *stage.Stage, name, dir string) worker.Generator {
	g := s.Generator(name)
	g.State, g.Horizon, g.StartTime = filepath.Join(dir, "state"), stateHorizon, 10*time.Second
	return g
}

// kept starts a worker with a state file, and waits until it has issued IDs and its file can be
// used without the back end: it has the name of the namespace, and the last renewal.
func kept(s *stage.Stage, g worker.Generator) *worker.Worker {
	w := s.Worker(g.Name, g)
	s.AwaitMore(issuedEach, w)
	written(s, g)
	return w
}

// written waits until a state file has what its process knows by now: a renewal is in it with the
// next mark, and the record after that was begun when the process had the reply.
func written(s *stage.Stage, g worker.Generator) {
	for range 3 {
		before := contents(s, g)
		s.Until(func() bool {
			now := contents(s, g)
			return now != before && strings.Contains(now, `"nonce":"`) &&
				!strings.Contains(now, `"nonce":""`)
		}, "the state file is written")
	}
}

// contents returns what a state file has.
func contents(s *stage.Stage, g worker.Generator) string {
	b, err := os.ReadFile(g.State)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// again starts a worker once more that was ended, which has to go on with the same worker ID.
func again(s *stage.Stage, g worker.Generator, had int) *worker.Worker {
	ended := journal.Now()
	w := s.Worker(g.Name, g)
	s.Recovered(ended, w)
	s.AwaitMore(issuedEach/10, w)
	keeps(s, w, had, 0)
	return w
}

// gone takes the servers away, as far as that can be without a loss of what they have, until the
// function is called that it returns.
func gone(s *stage.Stage) (back func()) {
	if s.On("redis", "cluster") {
		s.Backend.Freeze()
		return func() { s.Backend.Thaw(); s.Backend.Restart() }
	}
	s.Backend.Kill()
	return s.Backend.Restart
}

// runState takes the servers away for three TTLs, and restarts one of two processes in that time
// and after it.
func runState(s *stage.Stage) {
	one := withState(s, "steady", s.TempDir())
	two := withState(s, "moved", s.TempDir())
	steady, moved := kept(s, one), kept(s, two)
	had := held(s, moved)
	for range s.Rounds(4, 1) {
		began := time.Now()
		back := gone(s)
		s.Sleep(s.TTL())
		moved.Kill()
		moved = again(s, two, had)
		moved.Terminate(s)
		if e := s.AwaitEvent(moved, 0, worker.Closed, nil); e.Text != "" {
			s.Errorf("a process that ends in an outage keeps its worker ID in the state file; it told of %s",
				e.Text)
		}
		moved = again(s, two, had)
		s.Sleep(time.Until(began.Add(3 * s.TTL())))
		back()
		s.Logf("the servers were away for %v", time.Since(began))
		renewed(s, time.Now(), 2*resumeTime, steady, moved)
		s.AwaitMore(issuedEach, steady, moved)
		well(s, steady, moved)
		written(s, two)
		for range 2 {
			moved.Kill()
			moved = again(s, two, had)
		}
		renewed(s, time.Now(), 2*resumeTime, moved)
		written(s, two)
	}
	if all := slots(s, busyTime, func(all []coord.Slot) bool {
		return len(all) == 2
	}); len(all) != 2 {
		safetytest.Of(s).Errorf("worker IDs %v are held; want two", all)
	}
	s.Uninterrupted(silence)
}

package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// goOnTime is how long a process with a state file may take to its first ID after the one before it was killed: until
// its clock has passed the mark, for which it does not wait longer if the back end was asked in vain meanwhile.
const goOnTime = local.DefaultWindow + handoverTime + busyTime

// startLimit is how long a start of these scenarios goes on before it is told why there is no worker ID.
const startLimit = 10 * time.Second

// keptHorizon is the horizon of generators that bridge an outage and what happens in it, on every back end.
const keptHorizon = 25 * time.Second

// declaredHorizon is the horizon of generators that bridge an hour, in namespaces that are declared with it.
const declaredHorizon = time.Hour

// longestHorizon is the longest horizon of a back end whose namespaces are declared with none, with room for clocks
// that differ.
func longestHorizon(s *stage.Stage) time.Duration {
	switch s.Backend.Name() {
	case "redis", "cluster":
		return forgottenTime - 2*time.Second
	}
	return 110 * time.Second
}

// keeping returns a generator with a state file and a way of its own to the servers: the place of the namespace is
// part of the file, so who goes on with the file takes the same way.
func keeping(s *stage.Stage, horizon time.Duration) (worker.Generator, *proxy.Proxy) {
	g, way := apart(s, "holder")
	return withState(s, g, horizon), way
}

// withState gives a generator a state file of its own.
func withState(s *stage.Stage, g worker.Generator, horizon time.Duration) worker.Generator {
	g.State, g.Horizon, g.Patience = filepath.Join(s.TempDir(), "state"), horizon, startLimit
	return g
}

// lasting declares the namespace of a generator with a state file for an outage of an hour. Where the back end has no
// such namespaces, the generator has the longest horizon that there is.
func lasting(s *stage.Stage, name string) worker.Generator {
	g := withState(s, s.Generator(name), longestHorizon(s))
	if s.InitLong(g.URL, declaredHorizon) {
		g.Horizon = declaredHorizon
	}
	s.Logf("its horizon is %v", g.Horizon)
	return g
}

// named is what a state file has that can be used without the back end: the name of the namespace.
var named = regexp.MustCompile(`"nonce":"[^"]`)

// kept starts a worker with a state file, and waits until it has issued IDs and its file can be used without the
// back end.
func kept(s *stage.Stage, name string, g worker.Generator) *worker.Worker {
	w := s.Worker(name, g)
	s.AwaitIssued(w, issuedEach)
	usable(s, g)
	return w
}

// usable waits until a state file can be used without the back end.
func usable(s *stage.Stage, g worker.Generator) {
	for {
		b, err := os.ReadFile(g.State)
		if err != nil {
			s.Fatal(err)
		}
		if named.Match(b) {
			return
		}
		s.Sleep(10 * time.Millisecond)
		if err := s.Context().Err(); err != nil {
			s.Fatalf("waiting until the state file has the name of its namespace: %v", err)
		}
	}
}

// gone takes the servers away, as far as that can be without a loss of what they have, and returned brings them back.
func gone(s *stage.Stage) {
	switch s.Backend.Name() {
	case "redis", "cluster":
		s.Backend.Freeze(s)
	case "postgres-standby", "mariadb-replica":
		s.Backend.Proxy().LoseAll()
	default:
		s.Backend.Kill(s)
	}
}

func returned(s *stage.Stage) {
	switch s.Backend.Name() {
	case "redis", "cluster":
		s.Backend.Thaw(s)
		s.Backend.Restart(s) // none has ended: it waits until those of a Cluster have found each other
	case "postgres-standby", "mariadb-replica":
		s.Backend.Proxy().Heal()
	default:
		s.Backend.Restart(s)
	}
}

// issuesNone fails the stage if a worker issues an ID within a time.
func issuesNone(s *stage.Stage, d time.Duration, w *worker.Worker) {
	before := w.Issued()
	s.Sleep(d)
	if n := w.Issued() - before; n > 0 {
		s.Errorf("process %d has issued %d IDs with a grant that is not its own", w.PID(), n)
	}
}

// contents returns what a file has.
func contents(s *stage.Stage, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// written waits until a state file has what its process knows by now: a renewal is in it with the next mark, and the record after
// that was begun when the process had the reply.
func written(s *stage.Stage, g worker.Generator) {
	for range 3 {
		for before := contents(s, g.State); contents(s, g.State) == before; {
			s.Sleep(5 * time.Millisecond)
			if err := s.Context().Err(); err != nil {
				s.Fatalf("waiting until the state file is written: %v", err)
			}
		}
	}
}

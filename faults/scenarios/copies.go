package scenarios

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var copies = []stage.Scenario{{
	Number: 51, Name: "state-copied", About: "a state file is copied, put back from a copy, and found after the machine was started again: no ID with it while the servers are away, and another worker ID when they answer",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   4 * issuedEach, Recovery: copiedTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 3 * issuedEach, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runCopied,
}, {
	Number: 51, Name: "state-in-use", About: "a second process is given a state file that is in use: it says by which process, and goes on when that one is killed",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   2 * issuedEach, Recovery: goOnTime + stage.RenewalTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 2 * issuedEach, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runInUse,
}}

const (
	// marked is longer than a mark reaches, and a start asks for the back end before it goes on without.
	marked = local.DefaultWindow + 2*local.Patience
	// copiedTime is how long a process whose state file is a copy may take once the servers answer.
	copiedTime = 2*time.Second + resumeTime
)

// runCopied starts processes with copies of a state file.
func runCopied(s *stage.Stage) {
	g, way := keeping(s, keptHorizon)
	s.Init(g.URL, "")
	first := kept(s, "holder", g)
	had := held(s, first)
	backup := copyOf(s, g.State, s.TempDir())
	dirs := []string{s.TempDir()}
	if !s.Short {
		dirs = append(dirs, smallDisk(s)) // on another device
	}
	way.LoseAll()
	for _, dir := range dirs {
		second := g
		second.Name, second.State = "second", copyOf(s, g.State, dir)
		refusedState(s, second, way, had, "")
		way.LoseAll()
	}
	first.Kill()
	if why := worker.CannotPretend(); why != nil {
		s.Skipf("a process cannot be made to believe that the machine was started again: %v", why)
	} else {
		machine := filepath.Join(s.TempDir(), "machine")
		if err := os.WriteFile(machine, []byte(rand.Text()+"\n"), 0o600); err != nil {
			s.Fatal(err)
		}
		started := g
		started.Name = "started-again"
		refusedState(s, started, way, had, machine)
		way.LoseAll()
	}
	if s.Short {
		return
	}
	b, err := os.ReadFile(backup)
	if err != nil {
		s.Fatal(err)
	}
	s.Sleep(local.DefaultWindow) // a copy that is as new as the file is out of sight of everybody
	if err := os.WriteFile(g.State, b, 0o600); err != nil {
		s.Fatal(err)
	}
	g.Name = "put-back"
	refusedState(s, g, way, had, "")
}

// copyOf copies a state file into a folder as a backup does.
func copyOf(s *stage.Stage, file, dir string) string {
	to := filepath.Join(dir, "copy")
	if out, err := exec.Command("cp", "-a", file, to).CombinedOutput(); err != nil {
		s.Fatalf("%s cannot be copied: %v\n%s", file, err, out)
	}
	return to
}

// refusedState starts a worker whose state file must not be used, without the servers, and heals its way to them: it
// leases another worker ID.
func refusedState(s *stage.Stage, g worker.Generator, way *proxy.Proxy, had int, machine string) {
	spec := worker.Spec{Generators: []worker.Generator{g}, Machine: machine}
	w := s.Start(g.Name, spec)
	issuesNone(s, marked, w)
	healed := journal.Now()
	way.Heal()
	s.Recovered(healed, w)
	s.AwaitIssued(w, issuedEach)
	if id := held(s, w); id == had {
		s.Errorf("process %d has worker ID %d, which the file has that must not be used", w.PID(), id)
	}
	w.Terminate(s)
}

// runInUse starts a second process on a state file.
func runInUse(s *stage.Stage) {
	g, way := keeping(s, keptHorizon)
	s.Init(g.URL, "")
	first := kept(s, "holder", g)
	had := held(s, first)
	other := g
	other.Name, other.Patience = "second", time.Second
	for _, away := range []bool{true, false}[:s.Rounds(2, 1)] {
		if away {
			way.LoseAll()
		} else {
			way.Heal()
		}
		second := s.Worker("second", other)
		contains(s, s.AwaitEvent(second, worker.Failed, "").Text, "in use by process")
		s.AwaitIssued(first, first.Issued()+issuedEach)
		if n := second.Issued(); n > 0 {
			s.Errorf("%d IDs were issued by a process whose state file another one has", n)
		}
		killed := journal.Now()
		first.Kill()
		s.Recovered(killed, second)
		s.AwaitIssued(second, issuedEach)
		keeps(s, second, had, 0)
		first = second
	}
}

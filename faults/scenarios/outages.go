package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// outages are scenarios of what happens to servers, to the network and to disks.
var outages = []stage.Scenario{{
	Name: "short-faults",
	About: "all that can happen to the servers and the network, one after the other, each for " +
		"longer than a TTL and shorter than H-R: nobody notices",
	Backends: with(servers, "etcd3", "zk3", "cluster"), Short: []string{"etcd3"},
	Budget: 8 * time.Minute,
	Run:    runShortFaults,
}, {
	Name: "long-faults",
	About: "the same to generators at full speed, until the windows have ended: an error, not " +
		"an ID beyond them, and IDs at most 2 s after",
	Backends: with(servers, "etcd3", "zk3", "cluster"), Short: []string{"mariadb", "zk3"},
	Recovery: resumeTime, Exclusive: true, Budget: 10 * time.Minute,
	Run: runLongFaults,
}, {
	Name: "dead-connections",
	About: "connections die and neither side is told: windows are extended over new ones after" +
		" a TTL, and nobody notices",
	Backends: with(servers, "etcd3", "zk3", "cluster"), Short: []string{"redis"},
	Run: runDeadConnections,
}, {
	Name: "leader-lost",
	About: "kill -9 and SIGSTOP of the leader, again and again: holders do not notice, and a " +
		"newcomer has IDs at most 5 s after another one can be elected",
	Backends: []string{"etcd3", "zk3"}, Short: []string{"etcd3"},
	Recovery: noticeTime + electionTime,
	Run:      runLeaderLost,
}, {
	Name: "minority-client",
	About: "a client sees only one member, which is cut off from the others: an error when its" +
		" window ends, none for the others, and IDs again once the member is back",
	Backends: []string{"etcd3", "zk3"},
	Recovery: electionTime,
	Run:      runMinority,
}, {
	Name: "power-failure",
	About: "kill -9 of all holders and all servers at once, which are started again: IDs as " +
		"soon as the leases of the dead have ended, at Redis after a quarantine",
	Backends: with(servers, "etcd3", "zk3", "sentinel", "cluster"), Short: []string{"etcd"},
	Recovery: powerTime,
	Run:      runPowerFailure,
}, {
	Name: "disk-full",
	About: "the file system of the state file is full until the window has ended: an error, " +
		"and IDs at most 2 s after there is space",
	Backends: []string{"static", "file"}, Short: []string{"static"},
	Recovery: resumeTime,
	Run:      runDiskFull,
}}

const (
	// outage is longer than any TTL of the suite, so that leases end in it.
	outage = 4500 * time.Millisecond
	// patientHorizon bridges that and the restart of an ensemble of ZooKeeper, or of an API server,
	// on a busy machine.
	patientHorizon = 25 * time.Second
	// noticeTime is how long the followers of a leader that stands still wait before they elect
	// another one: in an ensemble of ZooKeeper as the suite starts it, 4 s, and less in a cluster
	// of etcd.
	noticeTime = 4 * time.Second
	// electionTime is how long a newcomer may take to its first ID after that.
	electionTime = 5*time.Second + busyTime
	// powerTime is how long holders that start together with the servers may take to their first
	// ID: their clocks are compared with those of dead holders until the leases have ended, which
	// takes one TTL and 5 s at the most.
	powerTime = stage.TTLKeeper + 5*time.Second + busyTime
)

// fault is something that happens for a while.
type fault struct {
	name       string
	begin, end func()
	brief      bool // it cannot be made to last
}

// faults returns what can happen to the servers of a back end and the network before them, without
// a loss of what they have.
func faults(s *stage.Stage) []fault {
	b := s.Backend
	on := func(do func(*proxytest.Proxy)) func() { return func() { b.Way.Each(do) } }
	var unlock func()
	all := []fault{
		// those of a Cluster have to find each other
		{name: "SIGSTOP of all servers", begin: func() {
			b.Freeze(s)
		}, end: func() { b.Thaw(s); b.Restart(s) }},
		{name: "lost requests", begin: on((*proxytest.Proxy).Deafen), end: b.Way.Restore},
		{name: "lost replies", begin: on((*proxytest.Proxy).Swallow), end: b.Way.Restore},
		{name: "refused connections", begin: on((*proxytest.Proxy).Refuse), end: b.Way.Restore},
	}
	if !s.On("redis", "cluster") { // which take that for a loss
		all = append(all, fault{name: "kill -9 of all servers", begin: b.Kill, end: func() {
			b.Restart(s)
		}})
		all = append(all, fault{name: "a rolling restart", brief: true, begin: func() {
			b.Each(func(server backend.Server) { server.Terminate(s); server.Restart(s) })
		}, end: func() {}})
	}
	if b.Fill != nil && !s.On("mariadb-replica") {
		all = append(all, fault{name: "no space for writes", begin: func() {
			b.Fill(s)
		}, end: func() { b.Drain(s) }})
	}
	if b.Lock != nil {
		all = append(all, fault{name: "locks on all rows", begin: func() {
			unlock = b.Lock(s)
		}, end: func() { unlock() }})
	}
	if b.EndLeases != nil {
		all = append(all, fault{name: "the end of all leases", brief: true, begin: func() {
			if n := b.EndLeases(s); n < 2 {
				s.Errorf("%d leases were ended; there are 2 holders", n)
			}
		}, end: func() {}})
	}
	return append(all,
		fault{name: "slow replies", brief: true, begin: func() {
			b.Way.Slow(0, time.Second)
			s.Sleep(outage)
		}, end: b.Way.Restore},
		fault{name: "lost acknowledgements", brief: true, begin: func() {
			b.Way.Rob(b.IsCall)
			lost := b.Way.Robbed()
			s.Until(func() bool { return b.Way.Robbed() >= lost+4 }, "four replies are lost")
		}, end: b.Way.Restore},
	)
}

// runShortFaults has everything happen for a while.
func runShortFaults(s *stage.Stage) {
	var workers []*worker.Worker
	for _, name := range []string{"one", "two"} {
		g := s.Generator(name)
		g.Horizon = patientHorizon
		workers = append(workers, s.Worker(name, g))
	}
	s.AwaitMore(issuedEach, workers...)
	for _, f := range faults(s) {
		s.Logf("%s", f.name)
		began := time.Now()
		f.begin()
		if !f.brief {
			s.Sleep(outage)
		}
		f.end()
		s.Logf("%s has ended after %v", f.name, time.Since(began))
		renewed(s, time.Now(), resumeTime+electionTime, workers...)
		unmoved(s, workers...)
	}
	for _, w := range workers {
		keeps(s, w, held(s, w), 0)
	}
}

// runLongFaults has everything happen until the windows have ended.
func runLongFaults(s *stage.Stage) {
	fast := s.Generator("fast")
	fast.PerSecond = 0
	workers := []*worker.Worker{s.Worker("fast", fast), s.Worker("steady", s.Generator("steady"))}
	all := slices.DeleteFunc(faults(s), func(f fault) bool {
		return f.brief || f.name == "locks on all rows"
	})
	for i, f := range all {
		if s.Short && i != 0 && i != len(all)-1 {
			continue
		}
		s.AwaitMore(issuedEach, workers...)
		s.Logf("%s", f.name)
		began, from := journal.Now(), time.Now()
		f.begin()
		cut, limit := journal.Now(), time.Now().Add(s.Horizon()+stage.SkewBound)
		windowEnds(s, began, cut, workers...)
		stood := quiet(s, workers...)
		for run := range s.Runs(workers...) {
			if at := timeOf(run.Last()); at.After(limit) {
				s.Fatalf("an ID has the time %v; no window reaches beyond %v, a horizon after %v", at, limit,
					from)
			}
		}
		f.end()
		served := journal.Now()
		s.Excuse(stood, served)
		back(s, served, workers...)
	}
	s.Uninterrupted(resumeTime)
}

// The client of etcd takes a connection for dead whose other end has been silent for 10 s, which is
// the least that gRPC allows, and has not answered a ping for 3 s. That is less than the usual TTL,
// and more than the suite's.
const usualTTL, usualHorizon = 15 * time.Second, 30 * time.Second

// runDeadConnections has everybody's connections die silently.
func runDeadConnections(s *stage.Stage) {
	// for a renewal whose request was received when its connection died
	const underWay = 50 * time.Millisecond
	var workers []*worker.Worker
	for _, name := range []string{"one", "two"} {
		g := s.Generator(name)
		if s.On("etcd", "etcd3") {
			g.TTL, g.Horizon = usualTTL, usualHorizon
		}
		workers = append(workers, s.Worker(name, g))
	}
	s.AwaitMore(issuedEach, workers...)
	for range s.Rounds(2, 1) {
		forgotten := time.Now()
		s.Backend.Way.Each((*proxytest.Proxy).Forget)
		ttl := workers[0].Spec.Generators[0].TTL
		renewed(s, forgotten.Add(underWay), ttl+stage.RenewalTime+busyTime, workers...)
		unmoved(s, workers...)
	}
}

// runLeaderLost does something to the leader, and undoes it when another one leads.
func runLeaderLost(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for i := range s.Rounds(4, 2) {
		leader := s.Backend.Leader(s)
		since := journal.Now()
		undo := func() { leader.Restart(s) }
		if i%2 == 0 {
			leader.Kill()
		} else {
			leader.Freeze(s)
			undo = func() { leader.Thaw(s) }
		}
		newcomer := s.Worker("newcomer", s.Generator(fmt.Sprint("newcomer-", i)))
		s.Recovered(since, newcomer)
		renewed(s, time.Now(), electionTime, workers...) // they may have been connected to the old leader
		undo()
		workers = append(workers, newcomer)
		unmoved(s, workers...)
	}
}

// runMinority cuts a follower off that is all that one client sees.
func runMinority(s *stage.Stage) {
	b := s.Backend
	member := (slices.Index(b.Servers, b.Leader(s)) + 1) % len(b.Servers)
	single := func(name string) *worker.Worker {
		g := s.Generator(name)
		g.URL = elsewhere(s, g.URL, b.Way[member].Addr)
		return s.Worker(name, g)
	}
	others := holders(s, "one", "two")
	w := single("minority")
	s.AwaitMore(issuedEach, w)
	began := journal.Now()
	b.CutOff(s, b.Servers[member])
	cut := journal.Now()
	newcomer := single("newcomer")
	windowEnds(s, began, cut, w)
	s.AwaitEvent(newcomer, 0, worker.Failed, "")
	quiet(s, w, newcomer)
	if n := newcomer.Issued(); n > 0 {
		s.Errorf("a newcomer has issued %d IDs, and sees only a member that is cut off", n)
	}
	unmoved(s, others...)
	healed := journal.Now()
	b.Rejoin(s, b.Servers[member])
	back(s, healed, w, newcomer)
	unmoved(s, others...)
}

// runPowerFailure kills everything and starts it again.
func runPowerFailure(s *stage.Stage) {
	workers := holders(s, "one", "two", "three")
	forgetful := s.On("redis", "sentinel", "cluster")
	if forgetful {
		_, s.Scenario.Recovery = bounds(s)
	}
	for i := range s.Rounds(2, 1) {
		began := journal.Now()
		for _, w := range workers {
			w.Kill()
		}
		s.Backend.Kill()
		s.Backend.Restart(s)
		served := journal.Now()
		for n := range workers {
			name := fmt.Sprintf("again-%d-%d", i, n)
			workers[n] = s.Worker(name, s.Generator(name))
		}
		s.Excuse(began, served+int64(s.Scenario.Recovery))
		if forgetful {
			resumed(s, began, served, workers...)
		} else {
			back(s, served, workers...)
		}
	}
	s.Uninterrupted(silence)
}

// diskSize is that of a file system which is soon full.
const diskSize = 1 << 20

// smallDisk returns the folder of a file system of its own. To mount that takes rights without
// which the scenario is skipped.
func smallDisk(s *stage.Stage) string {
	dir := s.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", diskSize),
		"tmpfs", dir).CombinedOutput(); err != nil {
		s.Skipf("a small file system cannot be mounted: %v: %s", err, out)
	}
	s.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			s.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// fill fills a small disk until the function is called that it returns.
func fill(s *stage.Stage, disk string) (drain func()) {
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, diskSize), 0o600); !errors.Is(err, syscall.ENOSPC) {
		s.Fatalf("a file of %d bytes on a file system of that size: %v; want that there is no space",
			diskSize, err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			s.Fatal(err)
		}
	}
}

// runDiskFull fills the file system on which a state file lies.
func runDiskFull(s *stage.Stage) {
	disk := smallDisk(s)
	g := s.Generator("holder", "state="+filepath.Join(disk, "holder.state"))
	if s.On("file") {
		g = s.Generator("holder")
		g.URL = "file://" + filepath.Join(disk, "ids")
	}
	w := s.Worker("holder", g)
	s.AwaitMore(issuedEach, w)
	began := journal.Now()
	drain := fill(s, disk)
	windowEnds(s, began, journal.Now(), w)
	stood := quiet(s, w)
	drained := journal.Now()
	s.Excuse(stood, drained)
	drain()
	back(s, drained, w)
	s.Uninterrupted(resumeTime)
}

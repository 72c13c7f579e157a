package scenarios

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/coord/local"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var disks = []stage.Scenario{{
	Number: 53, Name: "state-disk-full", About: "the file system of a state file is full: who has a file goes on, also after a restart without the servers, and who has none says why there is no worker ID",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   4 * issuedEach, Recovery: goOnTime, Budget: time.Minute,
	Run: runStateDiskFull,
}, {
	Number: 53, Name: "state-disk-hangs", About: "the disk of a state file does not answer, without the servers and with them: an error that names the file, and the same worker ID when it answers",
	Backends: []string{"etcd", "redis", "zk", "postgres", "mariadb"},
	MinIDs:   4 * issuedEach, Recovery: goOnTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 4 * issuedEach, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runStateDiskHangs,
}}

// runStateDiskFull fills the file system of a state file.
func runStateDiskFull(s *stage.Stage) {
	disk := smallDisk(s)
	g, way := keeping(s, keptHorizon)
	g.State = filepath.Join(disk, "state")
	s.Init(g.URL, "")
	w := kept(s, "holder", g)
	had := held(s, w)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, diskSize), 0o600); !errors.Is(err, syscall.ENOSPC) {
		s.Fatalf("a file of %d bytes on a file system of that size: %v; want that there is no space", diskSize, err)
	}
	s.Sleep(2 * local.DefaultWindow)
	unmoved(s, w)
	way.LoseAll()
	w.Kill()
	killed := journal.Now()
	w = s.Worker("holder", g)
	s.Recovered(killed, w)
	s.AwaitIssued(w, issuedEach)
	keeps(s, w, had, 0)
	way.Heal()
	none := s.Generator("new")
	none.State = filepath.Join(disk, "new")
	second := s.Worker("new", none)
	contains(s, s.AwaitEvent(second, worker.Failed, "").Text, "the disk is full")
	if n := second.Issued(); n > 0 {
		s.Errorf("%d IDs were issued without room for the state file", n)
	}
	if err := os.Remove(filler); err != nil {
		s.Fatal(err)
	}
	drained := journal.Now()
	s.Recovered(drained, second)
	s.AwaitIssued(second, issuedEach)
}

// runStateDiskHangs freezes the file system of a state file, without the servers and with them.
func runStateDiskHangs(s *stage.Stage) {
	dir, freeze, thaw := frozenDisk(s)
	g, way := keeping(s, keptHorizon)
	g.State = filepath.Join(dir, "state")
	s.Init(g.URL, "")
	w := kept(s, "holder", g)
	had := held(s, w)
	defer thaw() // before the workers end: one that waits for the disk cannot be killed

	for _, away := range []bool{true, false} {
		if away {
			way.LoseAll()
			s.Sleep(2 * stage.RenewalTime) // it knows that the servers are away
		}
		began := journal.Now()
		freeze()
		e := s.AwaitEventSince(w, began, worker.Failed, worker.WindowEnded)
		contains(s, e.Text, g.State)
		stood := quiet(s, quietTime, w)
		thawed := journal.Now()
		thaw()
		s.Excuse(stood, journal.Now()+int64(busyTime))
		s.Recovered(thawed, w)
		s.AwaitIssued(w, w.Issued()+issuedEach)
		keeps(s, w, had, 0)
		healed := time.Now()
		way.Heal()
		renewedWithin(s, healed, 2*resumeTime, w)
	}
	w.Kill()
	killed := journal.Now()
	w = s.Worker("holder", g)
	s.Recovered(killed, w)
	s.AwaitIssued(w, issuedEach)
	keeps(s, w, had, 0)
}

// frozenDisk returns the folder of a file system of its own, and functions that make its disk hang and answer again. To
// mount that takes rights, and loop devices, without which the scenario is skipped.
func frozenDisk(s *stage.Stage) (dir string, freeze, thaw func()) {
	dir = s.TempDir()
	image := filepath.Join(s.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		s.Fatal(err)
	}
	const size = 16 << 20
	if err := os.Truncate(image, size); err != nil {
		s.Fatal(err)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			s.Skipf("a file system that can be frozen cannot be made: %s: %v: %s", command[0], err, out)
		}
	}
	var mu sync.Mutex
	frozen := false
	turn := func(option string, to bool) {
		mu.Lock()
		defer mu.Unlock()
		if frozen == to {
			return
		}
		if out, err := exec.Command("fsfreeze", option, dir).CombinedOutput(); err != nil {
			s.Errorf("fsfreeze %s: %v: %s", option, err, out)
			return
		}
		frozen = to
	}
	freeze, thaw = func() { turn("-f", true) }, func() { turn("-u", false) }
	s.Cleanup(func() {
		thaw()
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			s.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, freeze, thaw
}

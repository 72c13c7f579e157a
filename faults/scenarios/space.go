package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
)

var space = []stage.Scenario{{
	Number: 34, Name: "no-space", About: "the servers refuse writes, for lack of disk or memory, until the windows have ended: an error, and IDs at most 2 s after there is space",
	Backends: []string{"etcd", "etcd3", "redis", "sentinel", "cluster", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Recovery: resumeTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 20_000, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runNoSpace,
}, {
	Number: 34, Name: "disk-full", About: "the file system of the state file is full until the window has ended: an error, and IDs at most 2 s after there is space",
	Backends: []string{"static", "file"},
	MinIDs:   diskFullIDs, Recovery: resumeTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: diskFullIDs, Budget: time.Minute},
	Run:   runDiskFull,
}}

// runNoSpace has the servers run out of space.
func runNoSpace(s *stage.Stage) {
	b := s.Backend.(backend.Filler)
	workers := holders(s, "one", "two")
	began := journal.Now()
	b.Fill(s)
	windowEnds(s, began, journal.Now(), workers...)
	stood := quiet(s, quietTime, workers...)
	s.Excuse(stood, journal.Now())
	drained := journal.Now()
	b.Drain(s)
	s.Excuse(drained, journal.Now())
	back(s, drained, workers...)
	s.Uninterrupted(resumeTime)
}

const (
	// diskSize is that of a file system which is soon full.
	diskSize = 1 << 20
	// diskFullIDs are issued around the time in which it is.
	diskFullIDs = 10_000
)

// runDiskFull fills the file system on which a state file lies.
func runDiskFull(s *stage.Stage) {
	disk := smallDisk(s)
	g := s.Generator("holder")
	if s.Backend.Name() == "file" {
		g.URL = "file://" + filepath.ToSlash(filepath.Join(disk, "ids"))
	} else {
		g = s.Generator("holder", "state="+filepath.Join(disk, "holder.state"))
	}
	w := s.Worker("holder", g)
	s.AwaitIssued(w, issuedEach)
	began := journal.Now()
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, diskSize), 0o600); !errors.Is(err, syscall.ENOSPC) {
		s.Fatalf("a file of %d bytes on a file system of that size: %v; want that there is no space", diskSize, err)
	}
	windowEnds(s, began, journal.Now(), w)
	stood := quiet(s, quietTime, w)
	drained := journal.Now()
	s.Excuse(stood, drained)
	if err := os.Remove(filler); err != nil {
		s.Fatal(err)
	}
	back(s, drained, w)
	s.AwaitIssued(w, diskFullIDs)
	s.Uninterrupted(resumeTime)
}

// smallDisk returns the folder of a file system of its own, with diskSize bytes. To mount that takes rights without
// which the scenario is skipped.
func smallDisk(s *stage.Stage) string {
	dir := s.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", diskSize), "tmpfs", dir).CombinedOutput()
	if err != nil {
		s.Skipf("a small file system cannot be mounted: %v: %s", err, out)
	}
	s.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			s.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

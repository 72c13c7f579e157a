package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// lostFloor is the floor of a namespace that may have been lost.
const lostFloor = 77

// crashPath and crashStep have a process make the namespace in a file, and be killed before a step.
const crashPath, crashStep = "UNALIKE_TEST_CRASH_PATH", "UNALIKE_TEST_CRASH_STEP"

// makeFresh makes the namespace in a file unless it is there, and returns its floor.
func makeFresh(s *Store) (floor int64, err error) {
	s.o.Fresh = true
	op, err := s.Open("", time.Second, 0)
	if err != nil {
		return 0, err
	}
	defer op.End()
	meta := protocol.NewMeta(coord.Space{
		Fingerprint: "f", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 40, Capacity: 16,
	})
	born := meta
	born.Nonce = "n"
	born.Floor = lostFloor + 1 // of a file that is there without a namespace
	born.Loss = protocol.Loss{Nonce: born.Nonce, Floor: born.Floor}
	lost := meta
	lost.Nonce = "n"
	lost.Floor = lostFloor
	lost.Loss = protocol.Loss{Nonce: "loss", Floor: lost.Floor}
	sv, err := op.Survey(context.Background(), protocol.Ask{
		New:   func(protocol.Span) protocol.Meta { return born },
		Again: func(protocol.Span, protocol.Meta) protocol.Meta { return lost },
	})
	if err != nil {
		return 0, err
	}
	return sv.Meta.Record.Floor, nil
}

// crash makes the namespace and is killed before a step: 1 and 2 write the state file beside its
// place and the mark of the lock file, 3 puts the lock file into its directory, 4 and 5 put the
// state file in its place, and 6 follows the last one.
func crash() error {
	step, err := strconv.Atoi(os.Getenv(crashStep))
	if err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	next := func() {
		if step--; step == 0 {
			fmt.Println(self.Kill())
			select {}
		}
	}
	s := newStore(os.Getenv(crashPath))
	real := realDisk()
	s.disk.sync = func(f *os.File) error { next(); return real.sync(f) }
	s.disk.syncDir = func(dir string) error { next(); return filesys.SyncDir(dir) }
	s.disk.rename = func(from, to string) error { next(); return real.rename(from, to) }
	if _, err := makeFresh(s); err != nil {
		return err
	}
	next()
	return errors.New("there are fewer steps")
}

// TestFresh_Killed: a process is killed before each step in which it makes a file. A file that was
// there is never taken for one that never was, and a namespace begins with no floor otherwise.
func TestFresh_Killed(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 6; step++ {
		path := newPath(t)
		child := drivertest.StartChild(t, crashPath+"="+path, crashStep+"="+strconv.Itoa(step))
		if child.Lines.Scan() {
			t.Fatalf("before step %d: %s", step, child.Lines.Text())
		}
		marked := step > 1
		_, err := os.Stat(path)
		if there := err == nil; there != (step > 4) {
			t.Errorf("before step %d: the file is there: %v", step, there)
		}
		if err == nil { // the namespace is in use
			if floor, err := makeFresh(newStore(path)); floor != 0 || err != nil {
				t.Errorf("before step %d: the floor is %d, %v", step, floor, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		floor, err := makeFresh(newStore(path))
		if marked != (floor == lostFloor) || err != nil {
			safetytest.Unless(t, err).Errorf("killed before step %d: the floor is %d, %v; the lock "+
				"file was marked: %v", step, floor, err, marked)
		}
	}
}

// TestFresh: when a file that is missing is taken for a new one.
func TestFresh(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(path string) error
		floor  int64
	}{
		"no file was there": {func(string) error { return nil }, 0},
		"the file is deleted": {func(path string) error {
			_, err := makeFresh(newStore(path))
			return errors.Join(err, os.Remove(path))
		}, lostFloor},
		"the lock file too": {func(path string) error {
			_, err := makeFresh(newStore(path))
			return errors.Join(err, os.Remove(path), os.Remove(path+".lock"))
		}, 0},
		"the lock file, a write, the file": {func(path string) error {
			_, err := makeFresh(newStore(path))
			err = errors.Join(err, os.Remove(path+".lock"))
			_, err1 := bump(context.Background(), newStore(path))
			return errors.Join(err, err1, os.Remove(path))
		}, lostFloor},
		"the disk is full at first": {func(path string) error {
			s := newStore(path)
			s.disk.sync = func(*os.File) error { return errors.New("no space left") }
			if _, err := makeFresh(s); err == nil {
				return errors.New("there is no error")
			}
			return nil
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			if err := tt.before(path); err != nil {
				t.Fatal(err)
			}
			floor, err := makeFresh(newStore(path))
			if floor != tt.floor || err != nil {
				safetytest.Unless(t, err).Errorf("the floor is %d, %v; want %d", floor, err, tt.floor)
			}
			matches, err := filepath.Glob(path + ".tmp*")
			if len(matches) > 0 || err != nil {
				t.Errorf("%v, %v stayed", matches, err)
			}
		})
	}
}

// TestFresh_MarkIsSynced: a lock file that a crash has left marked is synced before a file is made.
func TestFresh_MarkIsSynced(t *testing.T) {
	t.Parallel()
	s := newStore(newPath(t))
	broken := errors.New("no answer")
	locks := 0
	s.disk.sync = func(f *os.File) error {
		if f.Name() != s.path+".lock" {
			return f.Sync()
		}
		if locks++; locks == 1 {
			return broken
		}
		return f.Sync()
	}
	if _, err := makeFresh(s); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.path); err == nil {
		t.Error("the file is there without a mark that is on the disk")
	}
	if floor, err := makeFresh(s); floor == 0 || err != nil || locks != 2 {
		t.Errorf("the floor is %d, %v, and the lock file was synced %d times", floor, err, locks)
	}
}

package keeper_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// disk is a state file, which outlives its processes.
type disk struct {
	mu      sync.Mutex
	content []byte
	pending []byte  // of a write under way, which may still reach the disk
	user    *access // the process that has the lock
	chain   int     // goes up when the records so far are lost
	// fate decides on a write: how long it takes, whether it fails, and whether a write that fails,
	// or whose process dies meanwhile, reaches the disk.
	fate func() (takes time.Duration, fails, arrives bool)
	// copied reports that a process finds a copy of the file, which it does not use.
	copied func() bool
}

// access is what one process has of a disk.
type access struct {
	*disk
	t      *testing.T
	killed bool
	saves  int
}

var (
	errDisk  = errors.New("the disk of the test fails")
	errInUse = errors.New("in use")
)

func newDisk() *disk {
	return &disk{
		fate:   func() (time.Duration, bool, bool) { return 5 * time.Millisecond, false, true },
		copied: func() bool { return false },
	}
}

// faultyDisk returns a disk with every fault.
func faultyDisk(rnd *rand.Rand) *disk {
	return &disk{
		fate: func() (takes time.Duration, fails, arrives bool) {
			takes = time.Duration(rnd.IntN(10)) * time.Millisecond
			switch rnd.IntN(200) {
			case 0:
				takes = time.Duration(rnd.IntN(90_000)) * time.Millisecond
			case 1, 2, 3, 4, 5, 6, 7:
				takes = time.Duration(rnd.IntN(5000)) * time.Millisecond
			}
			return takes, rnd.IntN(40) == 0, rnd.IntN(2) == 0
		},
		copied: func() bool { return rnd.IntN(20) == 0 },
	}
}

func (a *access) Path() string { return "state" }

func (a *access) Load(content any) (why string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.user != nil && a.user != a {
		return "", errInUse
	}
	if a.user = a; len(a.content) == 0 {
		return "", nil
	}
	if a.copied() {
		a.content = nil
		a.chain++
		return "it is a copy", nil
	}
	return "", json.Unmarshal(a.content, content)
}

func (a *access) Save(content any) error {
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	a.mu.Lock()
	if a.killed {
		a.mu.Unlock()
		return errDisk
	}
	if a.pending != nil || a.user != a {
		a.t.Error("two writes at a time, or a write without the lock")
	}
	a.pending = b
	a.saves++
	takes, fails, arrives := a.fate()
	a.mu.Unlock()
	time.Sleep(takes)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = nil
	if fails = fails || a.killed; !fails || arrives {
		a.content = b
	}
	if a.killed {
		a.user = nil
	}
	if fails {
		return errDisk
	}
	return nil
}

func (a *access) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.user == a && !a.killed {
		a.user = nil
	}
	return nil
}

// kill ends the process that has the lock. A write under way keeps it until its end.
func (a *access) kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.killed = true; a.user == a && a.pending == nil {
		a.user = nil
	}
}

// set changes the disk.
func (d *disk) set(f func(*disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

// lineage tells records from those before the disk was lost.
func (d *disk) lineage() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.chain
}

// records returns the record on the disk, and that of a write under way.
func (d *disk) records() (all []keeper.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range [][]byte{d.content, d.pending} {
		var r keeper.Record
		if len(b) > 0 && json.Unmarshal(b, &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

// join makes one more keeper for a back end, with the disk for its file.
func (d *disk) join(t *testing.T, f *coordtest.Fake, led *ledger,
	edit ...func(*keeper.Config),
) (*rig, *access) {
	a := &access{disk: d, t: t}
	r := join(t, f, led, append(edit, func(c *keeper.Config) { c.File, c.Place = a, "fake" })...)
	r.line.set(func(l *line) {
		l.onRelease = func(g coord.Grant, _ int64) { d.mayRelease(t, g) }
		l.onResume = func(_ coord.Grant, token string) { d.maySend(t, token) }
	})
	return r, a
}

// crash ends a process: its gate stays as it is, and nothing of it gets to the back end or the disk
// any more.
func (r *rig) crash(a *access) error {
	if a != nil {
		a.kill()
	}
	r.stopped = true
	_ = r.line.Close() // never fails: from now on it reaches nobody
	r.led.mu.Lock()
	r.gate.zombie = true
	r.led.mu.Unlock()
	return r.Stop(context.Background())
}

// mayRelease holds a process to invariant 4: a release is sent when the disk does not have the
// grant.
func (d *disk) mayRelease(t *testing.T, g coord.Grant) {
	for _, r := range d.records() {
		if r.Sent == g.Token || slices.ContainsFunc(r.Pieces, func(p coord.Grant) bool {
			return p.Token == g.Token
		}) {
			safetytest.Of(t).Errorf("4: %v is released, and the disk has it: %+v", g, r)
		}
	}
}

// maySend holds a process to invariant 5: the token of a Resume is on the disk before it is sent.
func (d *disk) maySend(t *testing.T, token string) {
	if all := d.records(); len(all) == 0 || all[0].Sent != token {
		safetytest.Of(t).Errorf("5: a Resume with token %q is sent, and the disk has %+v", token, all)
	}
}

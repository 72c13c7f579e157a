package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/filelock"
)

const listLayout = "41/10/12/1ms/2024-01-01T00:00:00Z"

func listRequest(token string, now int64) coord.Request {
	req := request(token, now)
	req.Fingerprint, req.Scale = listLayout, clock.Scale{Epoch: core.DefaultLayout().Epoch.UnixMicro(), Unit: 1000}
	return req
}

func list(t *testing.T, c *Coordinator) []coord.Slot {
	t.Helper()
	slots, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slots
}

func TestList(t *testing.T) {
	path := statePathOf(t)
	c := open(t, Options{State: path, AcceptFresh: true, Count: 3})
	// Somebody else's eyes: a coordinator that has granted nothing.
	other := open(t, Options{State: path, Namespace: c.opts.Namespace, Count: 3})
	if slots := list(t, other); len(slots) != 0 {
		t.Errorf("List of nothing: %v", slots)
	}
	began := time.Now().Add(-time.Second) // file systems may be coarser than the clock
	acquire(t, c, listRequest("a", 1000))
	g := acquire(t, c, listRequest("b", 2000))
	if err := c.Release(t.Context(), g, 2500); err != nil {
		t.Fatal(err)
	}
	slots := list(t, other)
	if len(slots) != 2 {
		t.Fatalf("List: %+v; want 2 slots", slots)
	}
	for i, want := range []coord.Slot{
		{WorkerID: 7, State: coord.SlotHeld, NotAfter: 4000},
		{WorkerID: 8, State: coord.SlotFree, NotAfter: 2500},
	} {
		s := slots[i]
		if s.WorkerID != want.WorkerID || s.State != want.State || s.NotAfter != want.NotAfter || s.Layout != listLayout || s.Holder != "test" || s.Generation != 1 {
			t.Errorf("slot %+v; want %+v", s, want)
		}
		if until := core.DefaultLayout().Epoch.Add(time.Duration(want.NotAfter+1) * time.Millisecond); !s.Until.Equal(until) {
			t.Errorf("the window of worker ID %d ends %v; want %v", s.WorkerID, s.Until, until)
		}
		if s.Renewed.Before(began) || (want.State == coord.SlotHeld) == s.Since.IsZero() || !s.Since.IsZero() && s.Since.Before(began) {
			t.Errorf("worker ID %d: since %v, renewed %v; the test began at %v", s.WorkerID, s.Since, s.Renewed, began)
		}
	}
	// A worker ID is held by its lock, whoever has it, and free without.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if s := list(t, other)[0]; s.State != coord.SlotFree || s.NotAfter != 4000 {
		t.Errorf("after a holder that gave nothing back: %+v", s)
	}
	if _, err := c.List(t.Context()); !errors.Is(err, coord.ErrClosed) {
		t.Errorf("List after Close: %v", err)
	}
}

func TestListOfAnotherProcess(t *testing.T) {
	path := statePathOf(t)
	p := start(t, "list", path, "")
	if _, ok := p.next(t); !ok {
		t.Fatal("the process does not acquire")
	}
	c := open(t, Options{State: path, Namespace: "list"})
	slots, err := c.List(t.Context())
	if len(slots) != 0 || !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "says neither unit nor epoch") {
		t.Errorf("List with the layout of tests: %v, %v", slots, err)
	}
	who, since, err := lockedBy(path + ".lock")
	if err != nil || !strings.HasPrefix(who, "process ") || since.IsZero() {
		t.Errorf("the lock of another process: %q, %v, %v", who, since, err)
	}
	p.kill()
	if who, _, err = lockedBy(path + ".lock"); err != nil || who != "" {
		t.Errorf("the lock of a process that was killed: %q, %v", who, err)
	}
}

func TestListErrors(t *testing.T) {
	state := func(content string) Options {
		path := statePathOf(t)
		write(t, path, content)
		return Options{Namespace: "n", State: path}
	}
	locked := statePathOf(t)
	l, err := lock(locked+".lock", filelock.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	for _, tt := range []struct {
		options Options
		want    string
	}{
		{Options{}, "a static coordinator without a state file cannot tell who holds its worker IDs"},
		{state(`x`), "it is not a JSON object"},
		{state(strings.Replace(goodState, `"worker":7`, `"worker":8`, 1)), `it belongs to namespace "n", worker ID 8`},
		{state(goodState), `layout "layout-a" says neither unit nor epoch`},
		{Options{State: locked}, "it is missing and its lock is held by this process"},
		{Options{State: filepath.Join(t.TempDir(), "none", "state")}, "create the folder"},
	} {
		slots, err := open(t, tt.options).List(t.Context())
		if len(slots) != 0 || !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("List: %v, %v; want %q", slots, err, tt.want)
		}
	}
}

// TestListLeavesOutOneSlot: what can be read is listed beside what cannot.
func TestListLeavesOutOneSlot(t *testing.T) {
	path := statePathOf(t)
	write(t, path, strings.Replace(goodState, "layout-a", listLayout, 1))
	write(t, path+".8", "damaged")
	c := open(t, Options{Namespace: "n", State: path, Count: 3})
	slots, err := c.List(t.Context())
	if len(slots) != 1 || slots[0].WorkerID != 7 || !errors.Is(err, coord.ErrInvalid) || strings.Count(err.Error(), "state file") != 1 {
		t.Errorf("List: %v, %v; want worker ID 7, and an error about 8", slots, err)
	}
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List has made a lock file: %v", err)
	}
}

// TestListByAddress: which worker ID an address gives depends on the layout, which
// the state file knows.
func TestListByAddress(t *testing.T) {
	path := statePathOf(t)
	write(t, path, strings.Replace(goodState, "layout-a", listLayout, 1))
	c, err := newCoordinator(source{ip: true}, Options{Namespace: "n", State: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if slots := list(t, c); len(slots) != 1 || slots[0].WorkerID != 7 {
		t.Errorf("List: %v", slots)
	}
}

// TestScaleOf holds the reading of fingerprints to what package core makes of them.
func TestScaleOf(t *testing.T) {
	for _, name := range append(core.LayoutNames(), "40/8/15/10ms/2025-01-01T00:00:00.500Z") {
		l, err := core.ParseLayout(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := scaleOf(l.String()); err != nil || got != l.Space().Scale {
			t.Errorf("%v: %+v, %v; want %+v", l, got, err, l.Space().Scale)
		}
	}
	for _, bad := range []string{"", "41/10/12", "41/10/12/1ms/yesterday", "41/10/12/0s/2024-01-01T00:00:00Z", "41/10/12/1ms/1969-12-31T00:00:00Z", "41/10/12/-1ms/2024-01-01T00:00:00Z"} {
		if s, err := scaleOf(bad); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

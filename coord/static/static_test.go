package static

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// request is one at tick now with a window of 3000 ticks, in a layout with 1024
// worker IDs.
func request(token string, now int64) coord.Request {
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: "layout-a", Scale: clock.Scale{Unit: 1000},
		LastTick: 1<<41 - 1, Workers: coord.Range{Count: 1024}, Capacity: 1024,
		TTL: 15 * time.Second, Now: now, Until: now + 3000, OpenBy: now, Ahead: 5,
	}
}

// open returns a coordinator for worker ID 7. Without a namespace in o it gets a
// new one: the process remembers those that were used.
func open(t *testing.T, o Options) *Coordinator {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = rand.Text()
	}
	c, err := New(7, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func acquire(t *testing.T, c *Coordinator, req coord.Request) coord.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func renew(t *testing.T, c *Coordinator, g coord.Grant, until int64) coord.Grant {
	t.Helper()
	g, err := c.Renew(t.Context(), g, until)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// window checks the window of a grant.
func window(t *testing.T, g coord.Grant, notBefore, notAfter int64) {
	t.Helper()
	if g.NotBefore != notBefore || g.NotAfter != notAfter {
		t.Fatalf("granted was %v; want (%d, %d]", g, notBefore, notAfter)
	}
}

// wantError checks the kind and the exact text of an error.
func wantError(t *testing.T, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || err.Error() != text {
		t.Fatalf("error is\n\t%v\nwant, being %v,\n\t%s", err, kind, text)
	}
}

func stored(t *testing.T, path string) record {
	t.Helper()
	r, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// statePathOf returns a path for a state file, as the driver would resolve it.
func statePathOf(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "state")
}

func TestMissingStateFileIsWaitedOut(t *testing.T) {
	path := statePathOf(t)
	var log bytes.Buffer
	c := open(t, Options{State: path, Logger: logTo(&log)})
	g := acquire(t, c, request("a", 1000))
	window(t, g, 4000, 4000)
	if !strings.Contains(log.String(), "state file is missing; waiting one horizon in case it was lost") {
		t.Errorf("nothing was logged of the wait: %q", log.String())
	}
	window(t, renew(t, c, g, 7000), 4000, 7000)
}

func TestAcceptFresh(t *testing.T) {
	path := statePathOf(t)
	c := open(t, Options{State: path, AcceptFresh: true})
	window(t, acquire(t, c, request("a", 1000)), 0, 4000)
}

// TestRestart is what the state file is for: whatever the clock says, a window
// begins where the last one ended.
func TestRestart(t *testing.T) {
	for _, tt := range []struct {
		name            string
		now             int64
		from, until     int64
		orderly         bool
		last, wantAfter int64
	}{
		{name: "crash", now: 2000, from: 4000, until: 5000},
		{name: "crash, clock far ahead", now: 50000, from: 4000, until: 53000},
		{name: "crash, clock stepped back", now: 100, from: 4000, until: 4000},
		{name: "orderly", orderly: true, last: 1500, now: 1600, from: 1500, until: 4600},
		{name: "orderly, clock stepped back", orderly: true, last: 1500, now: -90000, from: 1500, until: 1500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, ns := statePathOf(t), rand.Text()
			before := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
			g := acquire(t, before, request("a", 1000))
			if tt.orderly {
				if err := before.Release(t.Context(), g, tt.last); err != nil {
					t.Fatal(err)
				}
			}
			before.Close()
			forget(ns) // as a new process would
			after := open(t, Options{Namespace: ns, State: path})
			h := acquire(t, after, request("b", tt.now))
			window(t, h, tt.from, tt.until)
			if h.Generation != g.Generation+1 {
				t.Errorf("generation %d follows %d", h.Generation, g.Generation)
			}
			if r := stored(t, path); r.NotAfter != h.NotAfter || r.Generation != h.Generation || r.Token != "b" {
				t.Errorf("%v was granted and %+v stored", h, r)
			}
		})
	}
}

// forget makes the process forget a namespace, so that what follows has the state
// file alone to go by.
func forget(namespace string) {
	registry.Lock()
	defer registry.Unlock()
	delete(registry.layouts, namespace)
	for p := range registry.pairs {
		if p.namespace == namespace {
			delete(registry.pairs, p)
		}
	}
}

func TestClockBeforeEpoch(t *testing.T) {
	path := statePathOf(t)
	c := open(t, Options{State: path})
	window(t, acquire(t, c, request("a", -90000)), 0, 0)
	if r := stored(t, path); r.NotAfter != 0 {
		t.Errorf("stored is %+v, which cannot be read back", r)
	}
}

func TestLastTick(t *testing.T) {
	c := open(t, Options{State: statePathOf(t)})
	req := request("a", 1<<41-100)
	g := acquire(t, c, req)
	window(t, g, req.LastTick, req.LastTick)
	window(t, renew(t, c, g, 1<<50), req.LastTick, req.LastTick)

	none := open(t, Options{})
	window(t, acquire(t, none, request("a", req.LastTick-2)), req.LastTick, req.LastTick)
}

func TestWithoutStateFile(t *testing.T) {
	ns := rand.Text()
	c := open(t, Options{Namespace: ns})
	g := acquire(t, c, request("a", 1000))
	window(t, g, 1005, 4000) // the tolerance is waited out
	if err := c.Release(t.Context(), g, 1700); err != nil {
		t.Fatal(err)
	}
	// What this process did itself it knows.
	again := open(t, Options{Namespace: ns})
	h := acquire(t, again, request("b", 100))
	window(t, h, 1700, 3100)
	if h.Generation != g.Generation+1 {
		t.Errorf("generation %d follows %d", h.Generation, g.Generation)
	}
	// Close releases nothing: its holder may go on to the end of its window.
	again.Close()
	last := open(t, Options{Namespace: ns})
	window(t, acquire(t, last, request("c", 100)), 3100, 3100)
	last.Close()
	// The tolerance is for predecessors that it cannot know: only at first.
	window(t, acquire(t, open(t, Options{Namespace: ns}), request("d", 5000)), 3100, 8000)
}

// TestSameProcess: with or without a state file, one worker ID has one holder in a
// process.
func TestSameProcess(t *testing.T) {
	ns := rand.Text()
	acquire(t, open(t, Options{Namespace: ns}), request("a", 1000))
	for _, state := range []string{"", statePathOf(t)} {
		_, err := open(t, Options{Namespace: ns, State: state}).Acquire(t.Context(), request("b", 1000))
		wantError(t, err, coord.ErrNoWorkerID, fmt.Sprintf("coord: no free worker ID: worker ID 7 of namespace %q is held in this process already (process %d); use one generator for both, or give one another worker ID", ns, os.Getpid()))
	}
	// Another namespace is another domain.
	acquire(t, open(t, Options{}), request("c", 1000))
}

func TestWarnings(t *testing.T) {
	path := statePathOf(t)
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{}, "static worker ID without a state file: restarts after a step of the clock, and other processes with the same worker ID, are not protected against"},
		{Options{State: path, AcceptFresh: true}, "fresh is set: a state file that was lost is taken for one that never was; unset it after the first start"},
		{Options{State: path}, ""},
	} {
		if got := strings.Join(open(t, tt.o).Describe().Warnings, "; "); got != tt.want {
			t.Errorf("%+v: warnings are %q; want %q", tt.o, got, tt.want)
		}
	}
}

func TestLeaseRules(t *testing.T) {
	c := open(t, Options{})
	l, err := driver.ResolveLease(coord.Describe(c).Rules, coord.LeaseConfig{})
	if err != nil || l.Horizon != 4*time.Second || l.RenewEvery != l.Horizon/3 || l.TTL != 15*time.Second {
		t.Errorf("defaults are %+v, %v; want a horizon of 4s, renewed every third of that", l, err)
	}
	c = open(t, Options{Lease: coord.LeaseConfig{Horizon: 9 * time.Second}})
	if l, err = driver.ResolveLease(coord.Describe(c).Rules, coord.LeaseConfig{}); err != nil || l.Horizon != 9*time.Second || l.RenewEvery != 3*time.Second {
		t.Errorf("with a horizon of 9s: %+v, %v", l, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, tt := range []struct {
		worker int
		o      Options
		want   string
	}{
		{-1, Options{}, `coord: invalid: worker is -1; a worker ID is 0 or more`},
		{7, Options{Count: -2}, `coord: invalid: Count is -2; it is the number of worker IDs, at least 1`},
		{1<<31 - 1, Options{Count: 2}, `coord: invalid: worker is 2147483647 and count is 2; the largest possible worker ID is 2147483647`},
		{7, Options{Namespace: "a/b"}, `coord: invalid: namespace "a/b" contains '/'; none of / { } : * \ and no space is allowed`},
		{7, Options{Lease: coord.LeaseConfig{Identity: "x"}}, `coord: invalid: Lease.WorkerIDs is 0- and Lease.Identity is "x"; both must be zero, a static coordinator has the worker IDs that it is given`},
		{7, Options{Lease: coord.LeaseConfig{Horizon: -time.Second}}, `coord: invalid: Horizon is -1s; it must be positive, or 0 for the default`},
		{7, Options{Lease: coord.LeaseConfig{Horizon: 25 * time.Hour}}, `coord: invalid: Horizon is 25h0m0s; at most 24h0m0s is allowed here`},
		{7, Options{Lease: coord.LeaseConfig{RenewEvery: 3 * time.Second}}, `coord: invalid: RenewEvery is 3s; it must be at most half of Horizon, which is 4s`},
	} {
		_, err := New(tt.worker, tt.o)
		if err == nil {
			t.Errorf("New(%d, %+v) succeeds; want %s", tt.worker, tt.o, tt.want)
			continue
		}
		wantError(t, err, coord.ErrInvalid, tt.want)
	}
	if _, err := New(7, Options{}); err != nil {
		t.Errorf("New(7, Options{}): %v", err)
	}
}

func TestWorkerIDOutsideLayoutOrShare(t *testing.T) {
	for _, tt := range []struct {
		count  int
		change func(*coord.Request)
		want   string
	}{
		{1, func(r *coord.Request) { r.Capacity, r.Workers.Count = 4, 4 }, `coord: invalid: static worker ID 7; the layout has worker IDs 0 to 3`},
		{2, func(r *coord.Request) { r.Capacity, r.Workers.Count = 8, 8 }, `coord: invalid: static worker ID 8; the layout has worker IDs 0 to 7`},
		{1, func(r *coord.Request) { r.Workers = coord.Range{First: 8, Count: 4} }, `coord: invalid: static worker IDs 7-7 are not within the share 8-11 that the generator is configured for; change one of them`},
		{2, func(r *coord.Request) { r.Workers = coord.Range{Count: 8} }, `coord: invalid: static worker IDs 7-8 are not within the share 0-7 that the generator is configured for; change one of them`},
	} {
		c := open(t, Options{Count: tt.count})
		req := request("a", 0)
		tt.change(&req)
		_, err := c.Acquire(t.Context(), req)
		wantError(t, err, coord.ErrInvalid, tt.want)
	}
}

func TestCount(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, Count: 3, AcceptFresh: true})
	for i, name := range []string{path, path + ".8", path + ".9"} {
		g := acquire(t, c, request(string(rune('a'+i)), 1000))
		if g.WorkerID != 7+i {
			t.Fatalf("grant %d is %v; want worker ID %d", i, g, 7+i)
		}
		if r := stored(t, name); r.Worker != g.WorkerID {
			t.Errorf("%s is of worker ID %d; want %d", name, r.Worker, g.WorkerID)
		}
	}
	_, err := c.Acquire(t.Context(), request("d", 1000))
	if !errors.Is(err, coord.ErrNoWorkerID) || !strings.Contains(err.Error(), "all 3 are held") {
		t.Errorf("a fourth: %v", err)
	}
}

// TestCountLayout: worker IDs of one namespace have one layout, though each has a
// file of its own.
func TestCountLayout(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, Count: 2, AcceptFresh: true})
	acquire(t, c, request("a", 1000))
	forget(ns) // as in another process, which takes worker ID 8
	other := open(t, Options{Namespace: ns, State: path, Count: 2, AcceptFresh: true})
	req := request("b", 1000)
	req.Fingerprint = "layout-b"
	_, err := other.Acquire(t.Context(), req)
	wantError(t, err, coord.ErrLayoutMismatch, `state file "`+path+`": coord: layout mismatch: namespace "`+ns+`" has layout layout-a, this generator has layout-b; use the stored layout or another namespace`)
	acquireAgain(t, c, ns)
}

// acquireAgain puts back what forget took from c, so that c can be closed.
func acquireAgain(t *testing.T, c *Coordinator, ns string) {
	t.Helper()
	for id := range c.held {
		if _, err := (pair{ns, id}).claim(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInterfaces(t *testing.T) {
	c, err := coord.Open(context.Background(), "static://?worker=7", coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.(coord.Describer); !ok {
		t.Error("a coordinator from a URL is no coord.Describer")
	}
	if _, err := os.Stat("state"); err == nil {
		t.Error("a state file was made though none is configured")
	}
}

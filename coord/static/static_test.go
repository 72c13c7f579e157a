package static

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/safetytest"
)

const layoutA = "41/10/12/1ms/2024-01-01T00:00:00Z"

// began is when the clocks of tests begin, and scale that of their layout: tick 0 is then.
var (
	began = time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	scale = clock.Scale{Epoch: began.UnixMicro(), Unit: 1000}
)

// space is the layout of tests.
var space = coord.Space{Fingerprint: layoutA, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024}

// at returns a clock that stands at a tick.
func at(tick int64) clock.Clock { return clocktest.NewManual(time.UnixMicro(scale.Micro(tick))) }

// request is one at tick now with a window of 3000 ticks, in a layout with 1024 worker IDs.
func request(token string, now int64) coord.Request {
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: layoutA, Scale: scale,
		LastTick: 1<<41 - 1, Workers: coord.Range{Count: 1024}, Capacity: 1024,
		TTL: 15 * time.Second, Now: now, Until: now + 3000, OpenBy: now, Ahead: 5,
	}
}

// open returns a coordinator for worker ID 7, whose clock stands at tick 1000 unless o has one.
// Without a namespace in o it gets a new one: the process remembers those that were used.
func open(t *testing.T, o Options) *coordinator {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = rand.Text()
	}
	if o.Clock == nil {
		o.Clock = at(1000)
	}
	c, err := newCoordinator(source{first: 7}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func acquire(t *testing.T, c *coordinator, req coord.Request) coord.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), req)
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

// refused checks the kind of an error, and that it has each of the texts.
func refused(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v; want %v", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v; want it to have %q", err, text)
		}
	}
}

func stateFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state")
}

// TestRestart is what the state file is for: whatever the clock says, a window begins where the
// last one ended.
func TestRestart(t *testing.T) {
	for name, tt := range map[string]struct{ now, last, from, until int64 }{
		"crash":                       {now: 2000, from: 4000, until: 5000},
		"crash, clock far ahead":      {now: 3_600_000, from: 4000, until: 3_603_000},
		"crash, clock stepped back":   {now: 500, from: 4000, until: 4000},
		"orderly":                     {now: 1600, last: 1500, from: 1500, until: 4600},
		"orderly, clock stepped back": {now: 500, last: 1500, from: 1500, until: 3500},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Namespace: rand.Text(), State: stateFile(t), AcceptFresh: true}
			before := open(t, o)
			g := acquire(t, before, request("a", 1000))
			window(t, g, 0, 4000)
			if tt.last != 0 {
				if err := before.Release(t.Context(), g, tt.last); err != nil {
					t.Fatal(err)
				}
			}
			_ = before.Close()
			moved := o.State + "-moved" // as on another machine
			if err := os.Rename(o.State, moved); err != nil {
				t.Fatal(err)
			}
			o.State, o.Clock, o.AcceptFresh = moved, at(tt.now), false
			h := acquire(t, open(t, o), request("b", tt.now))
			window(t, h, tt.from, tt.until)
			if h.Generation != g.Generation+1 {
				t.Errorf("%v follows %v", h, g)
			}
		})
	}
}

// TestLostFileIsWaitedOut: a file that is missing may have been lost, and a window have reached a
// horizon ahead. That is said. With AcceptFresh, and after Init, it is new.
func TestLostFileIsWaitedOut(t *testing.T) {
	var log bytes.Buffer
	for name, tt := range map[string]struct {
		o    Options
		init bool
		from int64
	}{
		"missing": {from: 1000 + 4000},
		"a longer horizon": {
			o:    Options{Lease: coord.LeaseConfig{Horizon: 10 * time.Second}},
			from: 1000 + 11000,
		},
		"fresh":    {o: Options{AcceptFresh: true}},
		"declared": {init: true},
	} {
		log.Reset()
		tt.o.State, tt.o.Logger = stateFile(t), slog.New(slog.NewTextHandler(&log, nil))
		c := open(t, tt.o)
		if tt.init {
			if err := c.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
		}
		g, err := c.Acquire(t.Context(), request("a", 1000))
		if err != nil || g.NotBefore != tt.from {
			t.Errorf("%s: %v, %v; want it to begin at %d", name, g, err, tt.from)
		}
		_ = c.Close() // what is logged in the background ends with it
		if said := strings.Contains(log.String(), "level=WARN") ||
			strings.Contains(log.String(), "level=ERROR"); said != (tt.from > 0) {
			t.Errorf("%s: logged was %q", name, &log)
		}
	}
}

// TestWithoutStateFile: a start waits as long as a predecessor can have been ahead of the clock.
// What this process did itself it knows.
func TestWithoutStateFile(t *testing.T) {
	ns := rand.Text()
	c := open(t, Options{Namespace: ns})
	g := acquire(t, c, request("a", 1000))
	window(t, g, 1005, 4000)
	if err := c.Release(t.Context(), g, 1700); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Namespace: ns})
	window(t, acquire(t, again, request("b", 100)), 1700, 3100)
	_ = again.Close() // its holder may go on to the end of its window
	last := open(t, Options{Namespace: ns})
	window(t, acquire(t, last, request("c", 100)), 3100, 3100)
	_, err := last.List(t.Context())
	refused(t, err, coord.ErrInvalid, "name the state file")
}

// TestAheadWithoutStateFile: what may be further ahead than a start waits needs a state file.
func TestAheadWithoutStateFile(t *testing.T) {
	for _, tt := range []struct {
		unit, ahead, from int64 // from 0: refused
	}{
		{1000, 0, 1005},
		{1000, 5, 1005},
		{1000, 6, 0},
		{2000, 3, 1003},
		{2000, 4, 0},
		{10000, 1, 1001},
		{10000, 2, 0},
	} {
		req := request("a", 1000)
		req.Scale.Unit, req.Ahead = tt.unit, tt.ahead
		now := clocktest.NewManual(time.UnixMicro(req.Scale.Micro(1000)))
		g, err := open(t, Options{Clock: now}).Acquire(t.Context(), req)
		if tt.from == 0 {
			refused(t, err, coord.ErrInvalid,
				fmt.Sprintf("%d ticks of %v ahead of the clock", tt.ahead,
					time.Duration(tt.unit)*time.Microsecond),
				"name a state file, or set Lead to 0 and RollbackTolerance to at most 5ms")
		} else if err != nil || g.NotBefore != tt.from {
			t.Errorf("%d ticks of %d us ahead: %v, %v; want it to begin at %d", tt.ahead, tt.unit, g, err,
				tt.from)
		}
	}
}

// TestSameProcess: with or without a state file, one worker ID has one holder in a process.
func TestSameProcess(t *testing.T) {
	ns := rand.Text()
	acquire(t, open(t, Options{Namespace: ns}), request("a", 1000))
	for _, state := range []string{"", stateFile(t)} {
		_, err := open(t, Options{Namespace: ns, State: state}).Acquire(t.Context(), request("b", 1000))
		refused(t, err, coord.ErrNoWorkerID,
			fmt.Sprintf("worker ID 7 of namespace %q is held in this process already (process %d); use one "+
				"generator for both, or give one another worker ID", ns, os.Getpid()))
	}
	acquire(t, open(t, Options{}), request("c", 1000)) // another namespace is another domain
}

// TestForeignFile: a file of another namespace, worker ID, layout or scheme is refused, and not
// touched.
func TestForeignFile(t *testing.T) {
	path, ns := stateFile(t), rand.Text()
	c := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	acquire(t, c, request("a", 1000))
	_ = c.Close()
	before, _ := os.ReadFile(path)
	const advice = "give each a state file of its own"
	refuses := func(c coord.Coordinator, err, kind error, texts ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		req := request("b", 1000)
		if errors.Is(kind, coord.ErrLayoutMismatch) {
			req.Fingerprint = "40/10/13/1ms/2024-01-01T00:00:00Z"
		}
		_, err = c.Acquire(t.Context(), req)
		refused(t, err, kind, texts...)
	}
	refuses(open(t, Options{State: path}), nil, coord.ErrInvalid, path,
		fmt.Sprintf("it belongs to namespace %q; it is wanted for namespace", ns), advice)
	other, err := New(8, Options{Namespace: ns, State: path})
	refuses(other, err, coord.ErrInvalid, path, advice,
		fmt.Sprintf("it belongs to namespace %q, worker ID 7; it is wanted for namespace %[1]q, "+
			"worker ID 8", ns))
	mine := Options{Namespace: ns, State: path}
	refuses(open(t, mine), nil, coord.ErrLayoutMismatch, layoutA, "40/10/13/1ms/2024-01-01T00:00:00Z")
	leased := func(path string) (coord.Coordinator, error) {
		return coord.Open(t.Context(), "file://"+path+"?namespace="+ns, coord.OpenOptions{})
	}
	first, err := leased(path + "-leased")
	if err != nil {
		return // this system has no file://
	}
	defer first.Close()
	_, _ = first.Acquire(t.Context(), request("b", 1000)) // its clock is another one
	mine.State += "-leased"
	refuses(open(t, mine), nil, coord.ErrInvalid,
		"it is one of file://, which leases worker IDs for a time; name another file")
	taken, err := leased(path)
	refuses(taken, err, coord.ErrInvalid,
		"it is one of static://, whose worker IDs are not leased for a time; name another file")
	if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
		t.Errorf("the file was changed: %s", after)
	}
}

// TestEarlierVersion: the file of an earlier version is refused, because its windows would be
// ignored.
func TestEarlierVersion(t *testing.T) {
	const old = `{"version":1,"namespace":"n","worker":7,"layout":"41/10/12/1ms/` +
		`2024-01-01T00:00:00Z","generation":3,"notAfter":5000,"token":"","holder":"h"}` + "\n"
	path := stateFile(t)
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, Options{State: path, AcceptFresh: true}).Acquire(t.Context(), request("a", 1000))
	refused(t, err, coord.ErrInvalid, path, "it is of an earlier version of this program", "mv "+path)
}

// TestCount: a coordinator has several worker IDs, one after the other.
func TestCount(t *testing.T) {
	o := Options{Namespace: rand.Text(), State: stateFile(t), Count: 3, AcceptFresh: true}
	c := open(t, o)
	if got := c.Describe().Rules.Workers; got != 3 {
		t.Errorf("a generator can have %d stripes, want 3", got)
	}
	for i := range 3 {
		if g := acquire(t, c, request(fmt.Sprint(i), 1000)); g.WorkerID != 7+i {
			t.Fatalf("grant %d is %v; want worker ID %d", i, g, 7+i)
		}
	}
	_, err := c.Acquire(t.Context(), request("full", 1000))
	refused(t, err, coord.ErrNoWorkerID, "3 of 3 are held", "worker ID 7", "worker ID 9")
}

// TestLockDeleted: without its lock file a holder keeps nobody out, and loses its worker ID to
// whoever comes; nobody is given what it has. Nobody came: it locks again.
func TestLockDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows does not delete a file that is open")
	}
	o := Options{Namespace: rand.Text(), State: stateFile(t), AcceptFresh: true}
	c := open(t, o)
	g := acquire(t, c, request("a", 1000))
	for _, taken := range []bool{false, true} {
		if err := os.Remove(lockPath(o.State, 7)); err != nil {
			t.Fatal(err)
		}
		if taken {
			forget(o.Namespace) // as another process
			h := acquire(t, open(t, o), request("b", 1000))
			if h.NotBefore < g.NotAfter {
				safetytest.Of(t).Errorf("%v was granted beside %v", h, g)
			}
		}
		r, err := c.Renew(t.Context(), g, g.NotAfter+100)
		switch {
		case taken:
			refused(t, err, coord.ErrLeaseLost)
		case err != nil:
			t.Fatal(err)
		default:
			g = r
			if _, err := os.Stat(lockPath(o.State, 7)); err != nil {
				t.Errorf("it was not locked again: %v", err)
			}
		}
	}
}

// TestLeaseOfASession: a worker ID is held for as long as its session lives, and not for one that
// has ended meanwhile.
func TestLeaseOfASession(t *testing.T) {
	ns, path := rand.Text(), stateFile(t)
	one, other := &leases{namespace: ns, path: path}, &leases{namespace: ns, path: path}
	session, end := context.WithCancel(t.Context())
	if err := one.Take(session, 7); err != nil || !one.Holds(7) || other.Holds(7) {
		t.Fatal(err)
	}
	if err := other.Take(t.Context(), 7); err == nil {
		safetytest.Of(t).Fatal("two hold one worker ID")
	}
	faster, err := filelock.Lock(lockPath(path, 8)) // by another process, since this one has looked
	if err != nil {
		t.Fatal(err)
	}
	defer faster.Unlock()
	if err := other.Take(t.Context(), 8); err == nil || other.Holds(8) {
		safetytest.Of(t).Error("two processes hold one worker ID")
	}
	end()
	one.End()
	if err := other.Take(session, 7); err == nil {
		safetytest.Of(t).Error("a session that has ended holds a worker ID")
	}
	if who, err := other.holder(7); who != "" || err != nil {
		t.Errorf("%s, %v", who, err)
	}
}

// forget makes the process forget a namespace, as another process would not know it.
func forget(namespace string) {
	held.Lock()
	defer held.Unlock()
	for w := range held.by {
		if w.namespace == namespace {
			delete(held.by, w)
		}
	}
}

// TestFailedWrites: what cannot be stored is not used, the worker ID is free for whoever comes, and
// service comes back with the disk.
func TestFailedWrites(t *testing.T) {
	o := Options{Namespace: rand.Text(), State: stateFile(t), AcceptFresh: true}
	c := open(t, o)
	broken := func(broken bool) {
		t.Helper()
		err := os.RemoveAll(o.State + ".tmp")
		if broken {
			err = os.MkdirAll(o.State+".tmp/full", 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fails := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, made := range []bool{false, true} { // the namespace
		if made {
			if err := c.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
		}
		broken(true)
		_, err := c.Acquire(t.Context(), request("a", 1000))
		fails("Acquire", err)
		broken(false)
	}
	acquire(t, open(t, o), request("b", 1000)) // by another coordinator
	_ = c.Close()

	c = open(t, Options{Namespace: o.Namespace + "2", State: o.State + "2", AcceptFresh: true})
	o.State += "2"
	g := acquire(t, c, request("c", 1000))
	broken(true)
	_, err := c.Renew(t.Context(), g, 5000)
	fails("Renew", err)
	_, err = c.Resume(t.Context(), g, "d", 5000)
	fails("Resume", err)
	fails("Release", c.Release(t.Context(), g, 1500))
	broken(false)
	h := acquire(t, c, request("e", 1000))
	if h.NotBefore < g.NotAfter || h.WorkerID != 7 {
		safetytest.Of(t).Errorf("%v was granted after %v, whose release failed", h, g)
	}
}

// TestDescribe: the warnings, and the lease times.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{
			Options{State: stateFile(t), AcceptFresh: true},
			"fresh is set: a state file that was lost is taken for one that never was; unset it after the " +
				"first start",
		},
		{Options{State: stateFile(t)}, ""},
	} {
		if got := strings.Join(open(t, tt.o).Describe().Warnings, "; "); got != tt.want {
			t.Errorf("%+v: warnings are %q; want %q", tt.o, got, tt.want)
		}
	}
	for horizon, every := range map[time.Duration]time.Duration{
		0:               time.Second,
		9 * time.Second: 3 * time.Second,
	} {
		c := open(t, Options{State: stateFile(t), Lease: coord.LeaseConfig{Horizon: horizon}})
		l, err := c.Describe().Rules.Resolve(coord.LeaseConfig{})
		if err != nil || l.Horizon != 3*every || l.RenewEvery != every || l.TTL != 15*time.Second {
			t.Errorf("with a horizon of %v: %+v, %v", horizon, l, err)
		}
	}
}

// TestInvalidOptions: what New refuses.
func TestInvalidOptions(t *testing.T) {
	for _, tt := range []struct {
		worker int
		o      Options
		want   string
	}{
		{-1, Options{}, `unalike: invalid: worker is -1; a worker ID is 0 or more`},
		{7, Options{Count: -2}, `unalike: invalid: Count is -2; it is the number of worker ` +
			`IDs, at least 1`},
		{
			7,
			Options{Lease: coord.LeaseConfig{Identity: "x"}},
			`unalike: invalid: Lease.WorkerIDs is 0- and Lease.Identity is "x"; both must be zero ` +
				`here, they ` +
				`belong in the generator's configuration`,
		},
		{
			7,
			Options{State: "s", Lease: coord.LeaseConfig{Horizon: 25 * time.Hour}},
			`unalike: invalid: Horizon is 25h0m0s; at most 24h0m0s is allowed here`,
		},
	} {
		if _, err := New(tt.worker, tt.o); err == nil || err.Error() != tt.want {
			t.Errorf("New(%d, %+v): %v; want %s", tt.worker, tt.o, err, tt.want)
		}
	}
}

// TestWorkerIDOutsideLayoutOrShare: the worker IDs are those of the layout and of the share.
func TestWorkerIDOutsideLayoutOrShare(t *testing.T) {
	for _, tt := range []struct {
		count  int
		change func(*coord.Request)
		want   string
	}{
		{2, func(r *coord.Request) {
			r.Capacity, r.Workers.Count = 8, 8
		}, `unalike: invalid: static worker ID 8; the layout has worker IDs 0 to 7`},
		{
			1, func(r *coord.Request) {
				r.Workers = coord.Range{First: 8, Count: 4}
			},
			`unalike: invalid: static worker IDs 7-7 are not within the share 8-11 that the generator is ` +
				`configured for; change one of them`,
		},
		{2, func(r *coord.Request) {
			r.Workers = coord.Range{Count: 8}
		}, `unalike: invalid: static worker IDs 7-8 are not within the share 0-7 that the generator is ` +
			`configured for; change one of them`},
	} {
		req := request("a", 0)
		tt.change(&req)
		if _, err := open(t, Options{Count: tt.count}).Acquire(t.Context(), req); err == nil ||
			err.Error() != tt.want {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
}

package drivertest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Awaited is a back end on which processes wait for worker IDs.
type Awaited struct {
	URL         string           // of a namespace of which nothing is stored; it leads over Proxy
	Proxy       *proxytest.Proxy // to the only server
	Watches     bool             // the back end reports a worker ID that is released
	Writes      func() int64     // how much was written so far
	Connections func() int64     // how many there are of coordinators; nil: they may keep them
}

// Process is a generator with a coordinator of its own, as in a process of its own.
type Process struct {
	*core.Generator
	Coordinator coord.Coordinator
}

// quiet is for processes that are expected to lack something.
var quiet = slog.New(slog.DiscardHandler)

// startProcess starts a process, which the caller ends.
func startProcess(tb testing.TB, url string, o coord.OpenOptions, config core.Config) Process {
	tb.Helper()
	c, err := coord.Open(Within(tb), url, o)
	if err != nil {
		tb.Fatal(err)
	}
	g, err := core.Start(c, config)
	if err != nil {
		tb.Fatal(err)
	}
	return Process{g, c}
}

// end ends processes.
func end(all []Process) {
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), CallTime)
			defer cancel()
			_ = p.Close(ctx) // it may have nothing to give back, or no server
			_ = p.Coordinator.Close()
		})
	}
	wg.Wait()
}

// StartProcesses starts processes in a share of worker IDs, which end with the test. It waits until
// each can issue IDs if all are to have one.
func StartProcesses(tb testing.TB, url string, many, share int, ready bool) []Process {
	tb.Helper()
	all := make([]Process, many)
	for i := range all {
		all[i] = startProcess(tb, url, coord.OpenOptions{Logger: quiet}, core.Config{
			Lease: coord.LeaseConfig{WorkerIDs: coord.Range{Count: share}}, Logger: quiet,
		})
	}
	tb.Cleanup(func() { end(all) })
	for _, p := range all {
		if !ready {
			break
		}
		if err := p.Ready(Within(tb)); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// Waiting runs the tests of processes that wait for a worker ID, each on a back end of its own.
func Waiting(t *testing.T, start func(t *testing.T) Awaited) {
	fulltest.Heavy(t, "what many processes do while they wait is watched for some minutes")
	for name, test := range map[string]func(Awaited, *testing.T){
		"WritesNothing": Awaited.writesNothing, "BetterWorkerID": Awaited.betterWorkerID,
		"AfterOutage": Awaited.afterOutage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			c, err := Open(t, b.URL)
			if err == nil {
				err = c.(coord.AdminCoordinator).Init(Within(t), Space())
			}
			if err != nil {
				t.Fatal(err)
			}
			test(b, t)
		})
	}
}

// longestPause is the longest pause of a process that waits for a worker ID.
const longestPause = 15 * time.Second

// busyTime is what a bound on a time allows beyond what is promised, on a busy machine: less than
// what a process takes that pauses for as long as it may.
const busyTime = 5 * time.Second

// writesNothing: 20 processes that wait next to 8 holders add at most a tenth to what these write,
// and keep no connection to a database. In a short time the writes of holders alone vary by more.
func (b Awaited) writesNothing(t *testing.T) {
	const holders, waiters = 8, 20
	seconds, most := fulltest.Rounds(20, 60), 1.1
	if seconds < 60 {
		most = 1.5
	}
	measure := func() (perSecond float64, least, largest int64) {
		t.Helper()
		before, began := b.Writes(), time.Now()
		for n := range seconds {
			time.Sleep(time.Second)
			if b.Connections == nil {
				continue
			}
			now := b.Connections()
			largest = max(largest, now)
			if n == 0 || now < least {
				least = now
			}
		}
		return float64(b.Writes()-before) / time.Since(began).Seconds(), least, largest
	}
	StartProcesses(t, b.URL, holders, holders, true)
	before, _, largest := measure()
	StartProcesses(t, b.URL, waiters, holders, false)
	time.Sleep(longestPause) // what is measured is how they go on
	after, least, _ := measure()
	t.Logf("%.3f writes a second by %d holders, and %.3f next to %d that wait", before, holders, after,
		waiters)
	if after > most*before {
		t.Errorf("%.3f writes a second; want %v times %.3f at most", after, most, before)
	}
	if least > largest {
		t.Errorf("%d connections are kept; the holders have %d at most", least, largest)
	}
}

// betterWorkerID: a generator whose window opens late takes a worker ID that becomes usable before.
func (b Awaited) betterWorkerID(t *testing.T) {
	c, err := Open(t, b.URL)
	if err != nil {
		t.Fatal(err)
	}
	holder := StartProcesses(t, b.URL, 1, 1, true)[0]
	dead := Request(2) // whose holder never renews
	dead.TTL = 2 * time.Second
	dead.Until = dead.Now + min(coord.Describe(c).Rules.MaxHorizon-time.Second,
		95*time.Second).Milliseconds()
	MustAcquire(t, c, dead)
	p := StartProcesses(t, b.URL, 1, 2, false)[0]
	streamtest.Eventually(t, "it has the worker ID whose window opens late", func() bool {
		return p.Health().Workers[0].Generation > 0
	})
	if err := p.Check(); err == nil {
		t.Fatal("the window is open")
	}
	if err := holder.Close(Within(t)); err != nil {
		t.Fatal(err)
	}
	freed, limit := time.Now(), longestPause
	if b.Watches {
		limit = 2 * time.Second
	}
	if err := p.Ready(Within(t)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(freed)
	t.Logf("it issues %v after the other worker ID was released", took)
	if took > limit+busyTime {
		t.Errorf("it issues after %v; want %v", took, limit)
	}
}

// afterOutage: a process that was started while the back end was away issues a second after it is
// back.
func (b Awaited) afterOutage(t *testing.T) {
	b.Proxy.Refuse()
	all := StartProcesses(t, b.URL, 3, Capacity, false)
	time.Sleep(10 * time.Second) // the outage
	b.Proxy.Restore()
	back := time.Now()
	for _, p := range all {
		if err := p.Ready(Within(t)); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(back)
	t.Logf("all issue %v after the back end is back", took)
	if took > time.Second+busyTime {
		t.Errorf("all issue after %v; want 1 s", took)
	}
}

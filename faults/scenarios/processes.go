package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// processes are scenarios of what happens to the processes of generators, and to their clocks.
var processes = []stage.Scenario{{
	Name:      "baseline",
	About:     "four generators at full speed, nothing happens: no error, no interruption",
	Backends:  with(single, "static", "file", "embedded", "sentinel", "cluster"),
	Short:     []string{"cluster", "sentinel", "embedded", "file"},
	Exclusive: true, Budget: 10 * time.Minute,
	Run: runBaseline,
}, {
	Name: "kill-loop",
	About: "kill -9 of the holder of the only worker ID, again and again: the next one takes " +
		"over when its window has ended",
	Backends: with(single, "static", "file", "embedded"),
	Short:    with(single, "static", "embedded"),
	Recovery: takeOverTime, Budget: 5 * time.Minute,
	Run: runKillLoop,
}, {
	Name: "handover",
	About: "SIGTERM of the holder of the only worker ID, while eight goroutines issue at full " +
		"speed and another process waits for it, again and again: no ID after what was " +
		"given back, and no wait",
	Backends: with(single, "static", "file", "embedded"), Short: []string{"redis", "static"},
	Recovery: handoverTime, Exclusive: true,
	Run: runHandover,
}, {
	Name: "silent",
	About: "a holder is frozen for two TTLs, and for two horizons, and the network loses what it " +
		"sends, what it is sent, and both, while another one wants its worker ID: it goes on inside " +
		"its old window alone, the other one begins where that ends, and it has another worker ID at " +
		"most 2 s after it is back",
	Backends: with(single, "etcd3", "zk3", "static", "file"), Short: []string{"etcd", "zk", "file"},
	Recovery: takeOverTime, Budget: 6 * time.Minute,
	Run: runSilent,
}, {
	Name: "clock-steps",
	About: "the holder's clock steps by 10 s, by -10 s and by -H-5 s: IDs on another worker " +
		"ID, or when the clock has caught up if no other can be had",
	Backends: []string{"etcd", "file", "redis", "static", "zk"}, Short: []string{"zk"},
	Recovery: stage.Horizon + 5*time.Second + resumeTime,
	Run:      runClockSteps,
}, {
	Name: "crowd",
	About: "1024 generators start at once in 16 processes, one more is refused, and all are " +
		"killed and start again: each has a worker ID of its own",
	Backends: with(single, "etcd3", "zk3", "sentinel", "cluster"), Short: []string{"cluster"},
	Recovery: crowdTime + crowdLease, Exclusive: true, Budget: 5 * time.Minute,
	Run: runCrowd,
}}

// own returns the option of a URL with which a generator can run beside others: a static one needs
// a worker ID of its own.
func own(s *stage.Stage, n int) (options []string) {
	if s.On("static") {
		return []string{fmt.Sprint("worker=", n)}
	}
	return nil
}

// runBaseline lets four generators in two processes issue IDs until there are enough of them.
func runBaseline(s *stage.Stage) {
	var workers []*worker.Worker
	for p := range 2 {
		var pair []worker.Generator
		for n := range 2 {
			g := s.Generator(fmt.Sprint("g", n), own(s, 2*p+n)...)
			g.PerSecond = 0
			pair = append(pair, g)
		}
		workers = append(workers, s.Worker("pair", pair...))
	}
	s.AwaitMore(uint64(s.Rounds(60_000_000, 5_000_000)), workers...)
	s.Uninterrupted(silence)
	well(s, workers...)
}

// only returns a generator for the only worker ID of the namespace.
func only(s *stage.Stage, name string) worker.Generator {
	g := s.Generator(name)
	g.Count = 1
	return g
}

// runKillLoop kills holders.
func runKillLoop(s *stage.Stage) {
	w := s.Worker("holder", only(s, "holder"))
	for range s.Rounds(10, 2) {
		s.AwaitMore(issuedEach, w)
		w.Kill()
		killed := journal.Now()
		w = s.Worker("holder", only(s, "holder"))
		s.Recovered(killed, w)
	}
	s.AwaitMore(issuedEach, w)
}

// runHandover ends holders in good order.
func runHandover(s *stage.Stage) {
	g := only(s, "holder")
	g.PerSecond, g.Goroutines, g.UntilClosed = 0, 8, true
	w := s.Worker("holder", g)
	for range s.Rounds(10, 3) {
		s.AwaitMore(200*issuedEach, w)
		next := s.Worker("holder", g)
		s.AwaitEvent(next, 0, worker.Failed, coord.ErrNoWorkerID)
		ended := journal.Now()
		w.Terminate(s)
		if e := s.AwaitEvent(w, 0, worker.Closed, nil); e.Text != "" {
			s.Errorf("the holder could not give its worker ID back: %s", e.Text)
		}
		s.Recovered(ended, next)
		w = next
	}
	s.AwaitMore(issuedEach, w)
}

// silences are ways in which nothing is heard of a holder, on a way of its own.
func silences(s *stage.Stage, w *worker.Worker, way backend.Way) []fault {
	frozen := func(name string, d time.Duration) fault {
		return fault{
			name: name, begin: func() { w.Freeze(s) }, end: func() { w.Thaw(s) },
			until: func() { s.Sleep(d) },
		}
	}
	return slices.Concat(
		[]fault{frozen("SIGSTOP for two horizons", 2*stage.Horizon)}, network(s, way)[:3],
		[]fault{frozen("SIGSTOP for two TTLs", 2*s.TTL())})
}

// runSilent has nothing heard of holders, while others want their worker IDs.
func runSilent(s *stage.Stage) {
	for i := range s.Rounds(5, 2) {
		if len(s.Backend.Way) == 0 && i > 0 && i < 4 {
			continue // there is no network
		}
		way := backend.StartWay(s, s.Backend.Way.Addrs()...)
		g := s.Generator("first", own(s, i)...)
		g.URL = elsewhere(s.Backend, g.URL, way)
		first := s.Worker("first", g)
		had := held(s, first)
		s.AwaitMore(issuedEach, first)
		f := silences(s, first, way)[i]
		s.Logf("%s", f.name)
		frozen := f.until != nil
		if !frozen {
			renewed(s, time.Now(), resumeTime, first)
		}
		began := journal.Now()
		f.begin()
		cut := journal.Now()
		g = s.Generator("second", own(s, i)...)
		g.First, g.Count = had, 1
		second := s.Worker("second", g)
		if frozen {
			if s.On("static") { // what a frozen process has locked stays locked
				s.AwaitEvent(second, 0, worker.Failed, coord.ErrNoWorkerID)
			}
			f.until()
		} else {
			windowEnds(s, began, cut, first)
			s.Recovered(cut, second)
			s.AwaitMore(issuedEach, second)
			quiet(s, first)
		}
		ended := journal.Now()
		f.end()
		if took := s.Recovered(ended, first); took > resumeTime {
			s.Errorf("a holder that was silent took %v to its next ID; at most %v is allowed", took,
				resumeTime)
		}
		if s.On("static") {
			first.Terminate(s)
			s.AwaitIssued(second, issuedEach)
			continue
		}
		s.AwaitIssued(second, issuedEach)
		movesOn(s, first, had, began)
		s.AwaitMore(issuedEach, second)
		well(s, second)
	}
}

// runClockSteps steps the clock of a holder. A static generator has one worker ID, and servers that
// have a clock give no other one to a generator whose clock is that far from theirs: it waits until
// its clock has caught up.
func runClockSteps(s *stage.Stage) {
	if s.On("etcd") {
		s.Scenario.Recovery = resumeTime
	}
	clock := s.Clock()
	g := s.Generator("stepped")
	w := s.Start("stepped", worker.Spec{ClockFile: clock.Name(), Generators: []worker.Generator{g}})
	for _, step := range []time.Duration{
		10 * time.Second, -10 * time.Second,
		-stage.Horizon - 5*time.Second,
	} {
		s.AwaitMore(issuedEach, w)
		clock.Set(clock.Offset() + step)
		s.Logf("the clock stepped by %v", step)
		s.Sleep(quietTime / 2)
		s.Recovered(journal.Now(), w)
	}
	s.AwaitMore(issuedEach, w)
}

const (
	crowdProcesses = 16
	// crowdLease is the TTL and the horizon of a crowd, the library's default TTL: 1024 holders
	// renew 205 times a second then. With the suite's 3 s it would be 1024 times, more than an etcd
	// does on two processors that it shares with all of its clients.
	crowdLease = coord.DefaultTTL
	// crowdTime is how long a crowd may take until each generator can issue: 10 s, 30 s in
	// Kubernetes, and what a machine needs on which the servers share two processors with 1024
	// clients.
	crowdTime = 10*time.Second + 80*time.Second
)

// ofCrowd returns a generator that takes one of so many worker IDs.
func ofCrowd(s *stage.Stage, name string) worker.Generator {
	g := s.Generator(name)
	g.Count, g.PerSecond, g.Goroutines = s.Rounds(1024, 128), 4, 1
	g.TTL, g.Horizon = crowdLease, crowdLease
	return g
}

// crowd starts as many generators as there are worker IDs for them, and waits until each has one.
func crowd(s *stage.Stage, name string) (workers []*worker.Worker) {
	began := journal.Now()
	for p := range crowdProcesses {
		var all []worker.Generator
		for i := range s.Rounds(1024, 128) / crowdProcesses {
			g := ofCrowd(s, fmt.Sprintf("%s-%d-%d", name, p, i))
			g.StartTime = crowdTime // who gives up what it nearly has leaves the others waiting
			all = append(all, g)
		}
		workers = append(workers, s.Worker(name, all...))
	}
	owners := map[int]string{}
	last := began
	for _, w := range workers {
		var ready []worker.Event
		s.Until(func() bool {
			ready = slices.DeleteFunc(w.Events(), func(e worker.Event) bool {
				return e.Kind != worker.Ready
			})
			return len(ready) == len(w.Spec.Generators)
		}, "all generators of process %d are ready", w.PID())
		for _, e := range ready {
			last = max(last, e.At)
			if id := e.Workers[0]; owners[id] != "" {
				safetytest.Of(s).Errorf("worker ID %d belongs to generators %s and %s", id, owners[id],
					e.Generator)
			} else {
				owners[id] = e.Generator
			}
		}
	}
	s.RecoveredIn(time.Duration(last - began))
	return workers
}

// runCrowd starts a crowd, one too many, and the crowd again.
func runCrowd(s *stage.Stage) {
	workers := crowd(s, "first")
	began := journal.Now()
	refused := s.Worker("refused", ofCrowd(s, "refused"))
	e := s.AwaitEvent(refused, 0, worker.Failed, coord.ErrNoWorkerID)
	if took := time.Duration(e.At - began); took > handoverTime {
		s.Errorf("it took %v to refuse a generator; at most %v is allowed", took, handoverTime)
	}
	for _, w := range append(workers, refused) {
		w.Kill()
	}
	if n := refused.Issued(); n > 0 {
		safetytest.Of(s).Errorf("a generator was refused, and has issued %d IDs", n)
	}
	s.Excuse(began, journal.Now()+int64(crowdLease+crowdTime))
	second := crowd(s, "second")
	s.AwaitMore(issuedEach/10, second...)
}

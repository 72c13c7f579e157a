package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// fullSpeed are scenarios in which much happens to generators that issue as much as they can: a duplicate that needs a
// window to be full to its last tick is found there, and not by the easy pace of storms.
var fullSpeed = []stage.Scenario{{
	Number: 46, Name: "faults-at-full-speed", About: "everything that can happen to processes, the network and the servers, one after the other and again, to generators at full speed",
	Backends: slices.Concat(sqlBackends, []string{"kubernetes"}),
	MinIDs:   200_000_000, Recovery: resumeTime, Budget: 15 * time.Minute, Alone: true,
	Run: runFullSpeed,
}}

// happening is something that happens for a while.
type happening struct {
	name  string
	lasts time.Duration
	begin func()
	end   func()
}

// runFullSpeed has everything happen as often as it takes to issue enough IDs.
func runFullSpeed(s *stage.Stage) {
	names := []string{"one", "two"}
	var workers []*worker.Worker
	for i, name := range names {
		g := s.Generator(name)
		g.PerSecond = 0
		if i == 0 {
			s.Init(g.URL, "")
		}
		workers = append(workers, s.Worker(name, g))
	}
	all := happenings(s, workers)
	for n := 0; n < len(all) || s.Issued() < s.Scenario.MinIDs; n++ {
		for _, w := range workers {
			s.AwaitIssued(w, w.Issued()+issuedEach)
		}
		h := all[n%len(all)]
		s.Logf("%s for %v; %d IDs were issued", h.name, h.lasts, s.Issued())
		h.begin()
		s.Sleep(h.lasts)
		h.end()
		ended := journal.Now()
		for _, w := range workers {
			s.Recovered(ended, w)
		}
	}
}

// happenings returns what can happen. The worker that is killed is replaced by another one.
func happenings(s *stage.Stage, workers []*worker.Worker) []happening {
	const past = stage.Horizon + 2*time.Second
	b, p, nothing := s.Backend, s.Backend.Proxy(), func() {}
	on := func(do func(*proxy.Proxy)) func() { return func() { do(p) } }
	serve := func() { b.Restart(s) }
	again := func() { workers[0] = s.Worker("again", workers[0].Spec.Generators...) }
	var late *proxytest.Held
	all := []happening{
		{"kill -9 of the servers", s.TTL(), func() { b.Kill(s) }, serve},
		{"lost replies", outage, on((*proxy.Proxy).LoseReplies), p.Heal},
		{"kill -9 of a process", 0, func() { workers[0].Kill() }, again},
		{"lost acknowledgements", outage, func() { p.LoseAcks(2, b.IsCall) }, p.Heal},
		{"SIGSTOP of the servers", past, func() { b.Freeze(s) }, func() { b.Thaw(s) }},
		{"the end of all leases and connections", 0, func() { b.(backend.SessionEnder).EndSessions(s) }, nothing},
		{"SIGSTOP of a process", 2 * s.TTL(), func() { workers[1].Freeze(s) }, func() { workers[1].Thaw(s) }},
		{"a request that comes late", outage, func() { late = p.Hold(b.IsCall) }, func() { p.Heal(); _ = late.Deliver() }}, // if one was caught
		{"lost requests", past, on((*proxy.Proxy).LoseRequests), p.Heal},
		{"kill -9 of the servers", past, func() { b.Kill(s) }, serve},
		{"reset connections", 0, p.Reset, nothing},
		{"SIGSTOP of a process", past, func() { workers[1].Freeze(s) }, func() { workers[1].Thaw(s) }},
		{"an orderly restart", 0, func() { b.Stop(s) }, serve},
		{"refused connections", past, p.Refuse, p.Heal},
	}
	l, ok := b.(backend.Layered)
	if !ok {
		return all
	}
	return append(all,
		happening{"kill -9 of the server that clients reach", s.TTL(), l.Front().Kill, serve},
		happening{"kill -9 of the server below it", s.TTL(), l.Store().Kill, serve},
		happening{"SIGSTOP of the server below it", past, func() { l.Store().Freeze(s) }, func() { l.Store().Thaw(s) }},
		happening{"lost requests and replies between the servers", outage, l.Between().LoseAll, l.Between().Heal},
	)
}

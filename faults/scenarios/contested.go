package scenarios

import (
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// contested are scenarios in which two processes that are alive want the same ticks of the same
// worker ID.
var contested = []stage.Scenario{{
	Name: "cut-off",
	About: "the network loses what a holder sends, then what it is sent, then both, and " +
		"another one takes its worker ID long before the window has ended: it begins where " +
		"that ends, and the first one has another worker ID at most 2 s after it is back",
	Backends: with(servers, "etcd3", "zk3"), Short: []string{"etcd", "zk"},
	Recovery: takeOverTime,
	Run:      runCutOff,
}, {
	Name: "late-acquire",
	About: "each request of an acquisition comes late, when the worker ID has another holder: " +
		"nothing changes for that",
	Backends: []string{"etcd", "etcd3", "redis", "postgres", "mariadb", "kubernetes"},
	Short:    []string{"redis"},
	Recovery: takeOverTime,
	Run:      runLateAcquire,
}, {
	Name: "late-renewal",
	About: "a renewal comes after a later one, and its holder is cut off: the next holder " +
		"begins after what the later one has got",
	Backends: []string{"etcd", "etcd3", "redis", "postgres", "mariadb", "kubernetes"},
	Short:    []string{"postgres"},
	Recovery: takeOverTime,
	Run:      runLateRenewal,
}}

// succeeded cuts a holder off with lose, and returns when another one has taken its worker ID.
func succeeded(s *stage.Stage, first *worker.Worker, had int, lose func()) (second *worker.Worker) {
	renewed(s, time.Now(), resumeTime, first)
	began := journal.Now()
	lose()
	cut := journal.Now()
	second = s.Worker("second", wants(s, "second", had))
	windowEnds(s, began, cut, first)
	s.Recovered(cut, second)
	s.AwaitMore(issuedEach, second)
	quiet(s, first)
	return second
}

// runCutOff cuts holders off, whose windows last longer than their leases.
func runCutOff(s *stage.Stage) {
	for i, lose := range []func(backend.Way){
		func(w backend.Way) { w.Each((*proxytest.Proxy).Swallow) }, // the requests arrive: more can happen
		func(w backend.Way) { w.Each((*proxytest.Proxy).Deafen) },
		backend.Way.Hang,
	} {
		if s.Short && i > 0 {
			return
		}
		g, way := apart(s, "first")
		first := s.Worker("first", g)
		had := held(s, first)
		s.AwaitMore(issuedEach, first)
		second := succeeded(s, first, had, func() { lose(way) })
		healed := journal.Now()
		way.Heal()
		if took := s.Recovered(healed, first); took > resumeTime {
			s.Errorf("a holder that was cut off took %v to its next ID; at most %v is allowed", took, resumeTime)
		}
		movesOn(s, first, had, healed-int64(windowTime))
		well(s, second)
	}
}

// caught waits until a request was caught.
func caught(s *stage.Stage, h *proxytest.Held) {
	select {
	case <-h.Caught():
	case <-s.Context().Done():
		s.Fatal("no request was caught")
	}
}

// deliver sends a request that was caught.
func deliver(s *stage.Stage, h *proxytest.Held) {
	if err := h.Deliver(); err != nil {
		s.Fatalf("a request that was caught cannot be delivered: %v", err)
	}
}

// patient returns a URL with which Redis does not refuse a request because of its age.
func patient(s *stage.Stage, g worker.Generator) worker.Generator {
	if s.On("redis") {
		g.URL = s.Backend.URL("skew=25s")
	}
	return g
}

// runLateAcquire keeps a request of an acquisition back until somebody else has the worker ID.
func runLateAcquire(s *stage.Stage) {
	const calls = 3 // that an acquisition makes at most, of which one is kept in each round
	for n := range int32(calls) {
		if s.Short && n != calls-1 { // the request that changes most
			continue
		}
		var seen atomic.Int32
		late := s.Backend.Way.Hold(func(request []byte) bool { return s.Backend.IsCall(request) && seen.Add(1) == n+1 })
		first := s.Worker("first", patient(s, only(s, "first")))
		s.AwaitIssued(first, issuedEach)
		caught(s, late)
		s.Backend.Way.Heal() // no more is caught
		first.Kill()
		killed := journal.Now()
		second := s.Worker("second", only(s, "second"))
		s.Recovered(killed, second)
		s.AwaitMore(issuedEach, second)
		deliver(s, late)
		since := journal.Now()
		s.Sleep(s.TTL() + stage.RenewalTime) // in which a lease that was lost is noticed
		s.Logf("the answer to request %d is %.600q", n+1, late.Answer())
		s.AwaitMore(issuedEach, second)
		keeps(s, second, held(s, second), since)
		well(s, second)
		second.Terminate(s)
	}
}

// runLateRenewal delivers a renewal after later ones, cuts the holder off, and has another one take
// its worker ID while the window of the first one lasts.
func runLateRenewal(s *stage.Stage) {
	g, way := apart(s, "first")
	first := s.Worker("first", g)
	had := held(s, first)
	s.AwaitMore(issuedEach, first)
	early := way.Hold(s.Backend.IsCall)
	caught(s, early)
	s.Sleep(2*stage.RenewalTime + stage.RenewalTime/2) // the windows differ by as much
	second := succeeded(s, first, had, func() {
		way.Each((*proxytest.Proxy).Deafen)
		deliver(s, early)
	})
	healed := journal.Now()
	way.Heal()
	s.Logf("the answer to the early renewal is %.600q", early.Answer())
	back(s, healed, first)
	well(s, second)
}

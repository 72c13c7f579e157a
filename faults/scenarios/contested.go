package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
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
}}

// runCutOff cuts holders off, whose windows last longer than their leases.
func runCutOff(s *stage.Stage) {
	for i, lose := range []func(backend.Way){
		// the requests arrive: more can happen
		func(w backend.Way) { w.Each((*proxytest.Proxy).Swallow) },
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
		renewed(s, time.Now(), resumeTime, first)
		began := journal.Now()
		lose(way)
		cut := journal.Now()
		second := s.Worker("second", wants(s, "second", had))
		windowEnds(s, began, cut, first)
		s.Recovered(cut, second)
		s.AwaitMore(issuedEach, second)
		quiet(s, first)
		healed := journal.Now()
		way.Restore()
		if took := s.Recovered(healed, first); took > resumeTime {
			s.Errorf("a holder that was cut off took %v to its next ID; at most %v is allowed", took,
				resumeTime)
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

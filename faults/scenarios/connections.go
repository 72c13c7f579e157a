package scenarios

import (
	"strings"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var connections = []stage.Scenario{{
	Number: 35, Name: "dead-connections", About: "connections die and neither side is told: windows are extended over new ones after a TTL, and nobody notices",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   12_000, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 6_000, Budget: time.Minute, Backends: []string{"redis", "zk"}},
	Run:   runDeadConnections,
}}

const (
	// The client of etcd takes a connection for dead whose other end has been silent for 10 s, which is the least
	// that gRPC allows, and has not answered a ping for 3 s. That is less than the usual TTL, and more than the
	// suite's.
	usualTTL, usualHorizon = 15 * time.Second, 30 * time.Second
	// renewalUnderWay is for a renewal whose request was received when its connection died.
	renewalUnderWay = 50 * time.Millisecond
)

// runDeadConnections has everybody's connections die silently.
func runDeadConnections(s *stage.Stage) {
	ttl, horizon := s.TTL(), stage.Horizon
	if strings.HasPrefix(s.Backend.Name(), "etcd") {
		ttl, horizon = usualTTL, usualHorizon
	}
	var workers []*worker.Worker
	for _, name := range []string{"one", "two"} {
		g := s.Generator(name)
		g.TTL, g.Horizon = ttl, horizon
		w := s.Worker(name, g)
		s.AwaitIssued(w, issuedEach)
		workers = append(workers, w)
	}
	for range s.Rounds(2, 1) {
		forgotten := time.Now()
		s.Backend.Proxy().Forget()
		for _, w := range workers {
			renewedWithin(s, forgotten.Add(renewalUnderWay), ttl+stage.RenewalTime+busyTime, w)
		}
		unmoved(s, workers...)
	}
}

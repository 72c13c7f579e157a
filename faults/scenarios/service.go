package scenarios

import (
	"bytes"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

var service = []stage.Scenario{{
	Number: 49, Name: "service", About: "clients of two servers: kill -9 and restarts of these, lost, late and repeated requests and replies, connections that are reset, or lead nowhere: no ID twice",
	Backends: []string{"etcd", "redis", "zk", "postgres"},
	MinIDs:   2_000_000, Recovery: serviceTime, Budget: 5 * time.Minute,
	Short: &stage.Short{MinIDs: 50_000, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runService,
}, {
	Number: 49, Name: "service-outage", About: "the coordinator's servers are away for three horizons: clients are told that there are no IDs, and have some again when it serves",
	Backends: []string{"etcd", "zk", "postgres"},
	MinIDs:   50_000, Recovery: resumeTime + time.Second, Budget: 2 * time.Minute,
	Run: runServiceOutage,
}}

const (
	// serviceTime is how long clients may take to their next ID when a server that says nothing is asked first, which is
	// given 2 s.
	serviceTime = 2*time.Second + busyTime
	// servicePrefetch is what clients ask for at a time: little, for many requests.
	servicePrefetch = 100
)

// served is a service with its clients.
type served struct {
	*stage.Stage
	addresses []string
	servers   []*worker.Worker
	clients   []*worker.Worker
	front     *proxy.Proxy // between the two
}

// serveIDs starts two servers, and clients that have had IDs from them when it returns.
func serveIDs(s *stage.Stage) *served {
	s.Helper()
	v := &served{Stage: s}
	for _, port := range proctest.FreePorts(s, 2) {
		v.addresses = append(v.addresses, fmt.Sprint("127.0.0.1:", port))
	}
	s.Init(s.Generator("server").URL, "")
	for i := range v.addresses {
		v.servers = append(v.servers, v.server(i))
	}
	v.front = proxy.Start(s, v.addresses...)
	for i := range 3 {
		name := fmt.Sprint("client-", i)
		g := worker.Generator{Name: name, Prefetch: servicePrefetch, PerSecond: 10_000, Goroutines: 2}
		for _, a := range v.front.Addrs() {
			g.Servers = append(g.Servers, "http://"+a)
		}
		v.clients = append(v.clients, s.Worker(name, g))
	}
	for _, w := range v.clients {
		s.AwaitIssued(w, issuedEach)
	}
	return v
}

// server starts a server, which is ready when it returns.
func (v *served) server(i int) *worker.Worker {
	v.Helper()
	name := fmt.Sprint("server-", i)
	g := v.Generator(name)
	g.Listen = v.addresses[i]
	w := v.Worker(name, g)
	v.AwaitEvent(w, worker.Ready, "")
	return w
}

// isGenerate matches the requests of clients.
func isGenerate(request []byte) bool { return bytes.Contains(request, []byte("IDService/Generate")) }

// goOn waits until all clients have IDs that they have had after a moment, and more than they had in memory.
func (v *served) goOn(since int64) {
	v.Helper()
	for _, w := range v.clients {
		v.Recovered(since, w)
	}
	for _, w := range v.clients {
		v.AwaitIssued(w, w.Issued()+4*servicePrefetch)
	}
}

// runService does everything to servers and connections, in turns.
func runService(s *stage.Stage) {
	v := serveIDs(s)
	harms := []func(i int){v.kill, v.restart, v.loseReplies, v.reset, v.repeat, v.delay, v.hang}
	for round := range s.Rounds(12, 1) * len(harms) {
		harms[round%len(harms)](round % 2)
		v.goOn(journal.Now())
	}
	for s.Issued() < s.Scenario.MinIDs {
		s.Sleep(10 * time.Millisecond)
	}
}

// kill kills a server, and starts it again.
func (v *served) kill(i int) {
	v.servers[i].Kill()
	v.goOn(journal.Now())
	v.servers[i] = v.server(i)
}

// restart ends a server in good order, and starts it again.
func (v *served) restart(i int) {
	v.servers[i].Terminate(v)
	v.goOn(journal.Now())
	v.servers[i] = v.server(i)
}

// loseReplies loses replies, and the connections with them.
func (v *served) loseReplies(int) {
	before := v.front.AcksLost()
	v.front.LoseAcks(3, isGenerate)
	for v.front.AcksLost() < before+6 {
		v.Sleep(5 * time.Millisecond)
	}
	v.front.Heal()
}

// reset cuts all connections.
func (v *served) reset(int) { v.front.Reset() }

// repeat has a request arrive twice, and another one when its client has given up.
func (v *served) repeat(i int) {
	twice := v.front.Only(i).Copy(isGenerate)
	caught(v.Stage, twice)
	deliver(v.Stage, twice)
	late := v.front.Only(i).Hold(isGenerate)
	caught(v.Stage, late)
	v.goOn(journal.Now())
	deliver(v.Stage, late)
}

// delay makes everything slow, so that replies come when their clients have given up.
func (v *served) delay(i int) {
	v.front.DelayReplies(50 * time.Millisecond)
	v.front.Only(i).DelayReplies(2500 * time.Millisecond)
	v.goOn(journal.Now())
	v.front.Heal()
}

// hang has a server say nothing.
func (v *served) hang(i int) {
	v.front.Only(i).LoseAll()
	v.goOn(journal.Now())
	v.front.Heal()
}

// runServiceOutage kills the servers of the coordinator for longer than any window.
func runServiceOutage(s *stage.Stage) {
	v := serveIDs(s)
	began := journal.Now()
	s.Backend.Kill(s)
	for _, w := range v.clients {
		s.AwaitEventSince(w, began, worker.Failed, worker.NoServer)
	}
	stood := journal.Now()
	s.Sleep(max(0, longOutage(s)-time.Duration(stood-began)))
	s.Backend.Restart(s)
	v.goOn(journal.Now())
}

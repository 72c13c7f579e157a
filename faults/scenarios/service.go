package scenarios

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

var service = []stage.Scenario{{
	Name: "service",
	About: "clients of two servers: kill -9 and restarts of these, lost, late and repeated " +
		"requests and replies, connections that are reset, or lead nowhere, and a " +
		"coordinator that is away for longer than the horizon: no ID twice",
	Backends: []string{"etcd", "zk", "postgres"}, Short: []string{"postgres"},
	Recovery: 2*resumeTime + time.Second, Budget: 5 * time.Minute,
	Run: runService,
}}

// prefetch is what clients ask for at a time: little, for many requests.
const prefetch = 100

// served is a service with its clients.
type served struct {
	*stage.Stage
	addresses        []string
	servers, clients []*worker.Worker
	front            backend.Way // between the two
}

// start starts a server, which is ready when it returns.
func (v *served) start(i int) *worker.Worker {
	g := v.Generator(fmt.Sprint("server-", i))
	g.Listen = v.addresses[i]
	w := v.Worker(g.Name, g)
	v.AwaitEvent(w, 0, worker.Ready, nil)
	return w
}

// isGenerate matches the requests of clients.
func isGenerate(request []byte) bool {
	return bytes.Contains(request, []byte("IDService/Generate"))
}

// goOn waits until all clients have IDs that they have had after now, and more than they had in
// memory.
func (v *served) goOn() {
	v.Recovered(journal.Now(), v.clients...)
	v.AwaitMore(4*prefetch, v.clients...)
}

// runService does everything to servers and connections, in turns.
func runService(s *stage.Stage) {
	v := &served{Stage: s}
	for _, port := range proctest.FreePorts(s, 2) {
		v.addresses = append(v.addresses, fmt.Sprint("127.0.0.1:", port))
	}
	for i := range v.addresses {
		v.servers = append(v.servers, v.start(i))
	}
	v.front = backend.StartWay(s, v.addresses...)
	for i := range 3 {
		g := worker.Generator{
			Name: fmt.Sprint("client-", i), Prefetch: prefetch, PerSecond: 10_000,
			Goroutines: 2,
		}
		for _, a := range v.front.Addrs() {
			g.Servers = append(g.Servers, "http://"+a)
		}
		v.clients = append(v.clients, s.Worker(g.Name, g))
	}
	s.AwaitMore(issuedEach, v.clients...)
	harms := []func(one int){
		func(one int) { v.servers[one].Kill(); v.goOn(); v.servers[one] = v.start(one) },
		func(one int) { v.servers[one].Terminate(v); v.goOn(); v.servers[one] = v.start(one) },
		v.loseReplies,
		func(int) { v.front.Each((*proxytest.Proxy).Reset) },
		v.repeat,
		// longer than clients wait
		func(one int) { v.front[one:one+1].Slow(0, 2500*time.Millisecond); v.goOn(); v.front.Restore() },
		func(one int) { v.front[one].Hang(); v.goOn(); v.front.Restore() },
	}
	for round := range s.Rounds(6, 1) * len(harms) {
		harms[round%len(harms)](round % 2)
		v.goOn()
	}
	began := journal.Now()
	s.Backend.Kill()
	for _, w := range v.clients {
		s.AwaitEvent(w, began, worker.Failed, client.ErrUnavailable)
	}
	s.Backend.Restart()
	v.goOn()
}

// loseReplies loses replies, and the connections with them.
func (v *served) loseReplies(int) {
	v.front.Rob(isGenerate)
	robbed(v.Stage, v.front, 6)
	v.front.Restore()
}

// repeat has a request arrive when its client has given up, and once more.
func (v *served) repeat(one int) {
	held := v.front[one : one+1].HoldBack(proxytest.NewHeld(isGenerate))
	caught(v.Stage, held)
	v.goOn()
	deliver(v.Stage, held)
	deliver(v.Stage, held)
	v.Until(func() bool { return strings.Count(held.Answer(), "200 OK") == 2 }, "both are answered")
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

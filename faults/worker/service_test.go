package worker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServers: clients have IDs from a server, also from one that was killed and started again, and
// are told when there is none.
func TestServers(t *testing.T) {
	g := static(t)
	g.Listen = fmt.Sprint("127.0.0.1:", proctest.FreePorts(t, 1)[0])
	g.TTL = 2 * time.Second
	first := start(t, "", g)
	clients := []*worker.Worker{}
	for range 2 {
		c := worker.Generator{
			Name: "c", Servers: []string{"http://" + g.Listen}, Prefetch: 50,
			PerSecond: 2000, Goroutines: 2,
		}
		clients = append(clients, start(t, "", c))
	}
	more := func(what string) {
		t.Helper()
		for _, c := range clients {
			had := c.Issued()
			until(t, "IDs "+what, func() bool { return c.Issued() > had+200 })
		}
	}
	more("from the first server")
	first.Kill()
	for _, c := range clients {
		await(t, c, worker.Failed, worker.NoServer)
	}
	second := start(t, "", g)
	more("from the second one")
	if err := second.End(timeout); err != nil {
		t.Error(err)
	}
	var all []int64
	for _, c := range clients {
		if err := c.End(timeout); err != nil {
			t.Error(err)
		}
		for _, id := range ids(t, c) {
			all = append(all, int64(id))
		}
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n < 800 {
		t.Errorf("%d IDs, %d different ones", len(all), n)
	}
	if n := len(first.Journals()) + len(second.Journals()); n != 0 {
		t.Errorf("the servers have %d journals of IDs that others have issued", n)
	}
}

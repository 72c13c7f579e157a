package storms

import (
	"context"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/stage"
)

// Names of faults.
const (
	killed       = "kill -9"
	terminated   = "SIGTERM"
	frozen       = "SIGSTOP"
	clockStep    = "a step of the clock"
	slowRequests = "slow requests"
	slowReplies  = "slow replies"
	lostRequests = "lost requests"
	lostReplies  = "lost replies"
	lostAll      = "lost requests and replies"
	refused      = "refused connections"
	reset        = "reset connections"
	lostAcks     = "lost acknowledgements"
	heldRequest  = "a request that arrives late"
	copied       = "a request that arrives again"
	leader       = "kill -9 of the leader"
	frozenLeader = "SIGSTOP of the leader"
	rolling      = "a rolling restart"
	sessions     = "the end of all leases"
	flush        = "the deletion of all data"
	failover     = "a failover"
	switchOver   = "a change of primary"
	quarantine   = "a quarantine"
	inspection   = "a look at the namespace"
)

// clocked are the back ends for which workers can have a clock of their own.
var clocked = map[string]bool{"etcd": true, "etcd3": true, "redis": true, "zk": true, "zk3": true, "static": true, "postgres": true, "mariadb": true}

// targets returns what can happen on a back end to so many processes.
func targets(b backend.Backend, processes int) map[string][]string {
	all := map[string][]string{}
	for p := range processes {
		all[process(p)] = []string{killed, killed, terminated, frozen, frozen}
		if clocked[b.Name()] {
			all[clockOf(p)] = []string{clockStep}
		}
	}
	if len(b.Servers()) == 0 {
		return all
	}
	all["operator"] = []string{quarantine, inspection, inspection}
	all["servers"] = servers(b)
	if b.Proxy() != nil {
		all["network"] = []string{slowRequests, slowReplies, lostRequests, lostReplies, lostAll, refused, reset, lostAcks, heldRequest}
		if _, ok := b.(backend.Flusher); ok { // Redis: requests of the others belong to a session on their connection
			all["network"] = append(all["network"], copied)
		}
	}
	return all
}

// servers returns what can happen to the servers. Nothing there makes a back end lose what it has confirmed,
// unless it notices that itself.
func servers(b backend.Backend) []string {
	all := []string{frozen, killed, terminated}
	if len(b.Servers()) > 1 {
		all = append(all, rolling)
	}
	if _, ok := b.(backend.Elected); ok {
		all = append(all, frozenLeader)
		if _, ok := b.(backend.Replicated); !ok {
			all = append(all, leader)
		}
	}
	if _, ok := b.(backend.SessionEnder); ok {
		all = append(all, sessions)
	}
	if _, ok := b.(backend.Flusher); ok {
		all = append(all, flush)
	}
	if _, ok := b.(backend.Replicated); ok {
		all = append(all, failover, switchOver)
	}
	return all
}

// forgetful are the back ends that lose state in storms, and notice it themselves.
var forgetful = []string{"redis", "sentinel", "cluster"}

// rules says what the calls at a coordinator may show after a storm: requests were repeated, and leases were ended.
func rules(backends []string) []history.Rule {
	all := []history.Rule{history.LeasesLost}
	if slices.ContainsFunc(backends, func(b string) bool { return slices.Contains(forgetful, b) }) {
		all = append(all, history.StateLost)
	}
	return all
}

// operate has an operator do something, within the time that the fault lasts. That it cannot be done meanwhile
// is no failure.
func operate(s *stage.Stage, e Event) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	c, err := coord.Open(ctx, s.Backend.URL(namespace))
	if err != nil {
		s.Logf("%s: %v", e.What, err)
		return
	}
	defer c.Close() // its work is done
	switch admin, _ := c.(coord.Admin); {
	case e.What == inspection:
		if i, ok := c.(coord.Inspector); ok {
			_, err = i.Inspect(ctx)
		}
	case admin != nil:
		_, err = admin.Quarantine(ctx, time.Now().Add(e.Amount))
	}
	if err != nil {
		s.Logf("%s: %v", e.What, err)
	}
}

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
	front        = "kill -9 of the server that clients reach"
	store        = "kill -9 of the server below it"
	frozenStore  = "SIGSTOP of the server below it"
	cutBetween   = "lost requests and replies between the servers"
	sessions     = "the end of all leases"
	flush        = "the deletion of all data"
	failover     = "a failover"
	switchOver   = "a change of primary"
	quarantine   = "a quarantine"
	inspection   = "a look at the namespace"
	rollback     = "a rollback"
	rolledBelow  = "a rollback below a server that goes on"
	flushBehind  = "the deletion of all data, behind the back of one process"
	repeated     = "the newest acquisitions arrive again and again"
)

// losing are faults of a network with which nothing gets through, at least not as a call and its reply.
var losing = []string{lostRequests, lostReplies, lostAll, refused}

// clocked are the back ends for which workers can have a clock of their own.
var clocked = map[string]bool{"etcd": true, "etcd3": true, "redis": true, "zk": true, "zk3": true, "static": true, "file": true, "postgres": true, "mariadb": true, "kubernetes": true}

// targets returns what can happen on a back end to so many processes.
func targets(b backend.Backend, processes int) map[string]target {
	all := map[string]target{}
	for p := range processes {
		all[process(p)] = target{[]string{killed, killed, terminated, frozen, frozen}, usual}
		if clocked[b.Name()] {
			all[clockOf(p)] = target{[]string{clockStep}, usual}
		}
	}
	if len(b.Servers()) == 0 {
		return all
	}
	all["operator"] = target{[]string{quarantine, inspection, inspection}, usual}
	all["servers"] = target{servers(b), usual}
	if b.Proxy() != nil {
		all["network"] = target{network(b), usual}
	}
	return all
}

// network returns what can happen between all processes and the servers.
func network(b backend.Backend) []string {
	all := []string{slowRequests, slowReplies, lostRequests, lostReplies, lostAll, refused, reset, lostAcks, heldRequest}
	if standAlone(b) {
		all = append(all, copied)
	}
	return all
}

// standAlone reports whether requests stand alone, as those of Redis and of HTTP do: those of the others belong to a session on
// their connection.
func standAlone(b backend.Backend) bool {
	switch b.(type) {
	case backend.Flusher, backend.Objects:
		return true
	}
	return false
}

// servers returns what can happen to the servers. Nothing there makes a back end lose what it has confirmed,
// unless it notices that itself.
func servers(b backend.Backend) []string {
	all := []string{frozen, killed, terminated}
	if len(b.Servers()) > 1 {
		all = append(all, rolling)
	}
	if _, ok := b.(backend.Layered); ok {
		all = append(all, front, store, frozenStore, cutBetween)
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
	const limit = 2 * time.Second
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	do := raise
	if e.What == inspection {
		do = inspect
	}
	if err := do(ctx, s, e.Amount); err != nil {
		s.Logf("%s: %v", e.What, err)
	}
}

// inspect has an operator look at the namespace.
func inspect(ctx context.Context, s *stage.Stage, _ time.Duration) error {
	c, err := coord.Open(ctx, s.Backend.URL(namespace), coord.OpenOptions{})
	if err != nil {
		return err
	}
	defer c.Close() // its work is done
	if i, can := c.(coord.Admin); can {
		_, err = i.Inspect(ctx)
	}
	return err
}

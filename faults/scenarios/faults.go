package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

const (
	// outage is longer than any TTL of the suite, so that leases end in it.
	outage = 4500 * time.Millisecond
	// deadTime is how long a client of etcd takes to notice that a connection is dead: the other end
	// has been silent for 10 s, which is the least that gRPC allows, and has not answered a ping for
	// 3 s.
	deadTime = 13 * time.Second
	// noticeTime is how long the followers of a leader that stands still wait before they elect
	// another one: in an ensemble of ZooKeeper as the suite starts it, 4 s, and less in a cluster
	// of etcd.
	noticeTime = 4 * time.Second
	// electionTime is how long a newcomer may take to its first ID after that.
	electionTime = 5*time.Second + busyTime
)

// fault is something that happens for a while to servers or to a network, without a loss that
// nobody notices.
type fault struct {
	name       string
	begin, end func()
	// mild is that no window ends, however long it lasts.
	mild bool
	// until waits until it has lasted long enough that somebody might notice; nil: that is an outage.
	until func()
}

// network returns what can happen on a way.
func network(s *stage.Stage, way backend.Way) []fault {
	on := func(name string, mild bool, do func(*proxytest.Proxy)) fault {
		return fault{name: name, mild: mild, begin: func() { way.Each(do) }, end: way.Restore}
	}
	dead := on("dead connections", true, (*proxytest.Proxy).Forget)
	if s.On("etcd", "etcd3") {
		dead.until = func() { s.Sleep(deadTime) }
	}
	var held *proxytest.Held
	return []fault{
		// first those of which the requests arrive: more can happen
		on("lost replies", false, (*proxytest.Proxy).Swallow),
		on("lost requests", false, (*proxytest.Proxy).Deafen),
		on("lost bytes", false, (*proxytest.Proxy).Hang),
		on("refused connections", false, (*proxytest.Proxy).Refuse),
		on("reset connections", true, (*proxytest.Proxy).Reset),
		dead,
		on("slow replies", true, func(p *proxytest.Proxy) { p.Delay(time.Second) }),
		{
			name: "lost acknowledgements", mild: true,
			begin: func() { way.Rob(s.Backend.IsCall) }, end: way.Restore,
			until: func() { robbed(s, way, 4) },
		},
		{
			name: "a request that arrives late", mild: true,
			begin: func() { held = way.HoldBack(proxytest.NewHeld(s.Backend.IsCall)) },
			until: func() { caught(s, held) },
			end: func() {
				way.Restore()
				_ = held.Deliver() // if one was caught, and its connection is there
			},
		},
	}
}

// robbed waits until so many more replies are lost on a way.
func robbed(s *stage.Stage, way backend.Way, more int) {
	before := way.Robbed()
	s.Until(func() bool { return way.Robbed() >= before+more }, "%d replies are lost", more)
}

// servers returns what can happen to servers with some holders: also what the back end takes for a
// loss, if that is wanted.
func servers(s *stage.Stage, losses bool, holders ...*worker.Worker) (all []fault) {
	b, nothing := s.Backend, func() {}
	for _, f := range b.Faults {
		mild := f.Name == backend.AllRows
		all = append(all, fault{name: f.Name, begin: f.Begin, end: f.End, mild: mild})
	}
	// Those of a Cluster have to find each other.
	all = append(all, fault{
		name: "SIGSTOP of all servers", begin: b.Freeze, end: func() { b.Thaw(); b.Restart() },
	})
	if losses || !slices.Contains(forgetful, b.Name) {
		all = append(all,
			fault{name: "kill -9 of all servers", begin: b.Kill, end: b.Restart},
			fault{name: "a rolling restart", mild: true, begin: func() {
				b.Each(func(server backend.Server) { server.Terminate(s); b.Restart() })
			}, end: nothing, until: nothing})
	}
	if losses && s.On("redis", "cluster") {
		all = append(all, fault{name: b.Losses[0].Name, begin: b.Losses[0].Do, end: nothing})
	}
	if b.EndLeases != nil {
		all = append(all, fault{name: "the end of all leases", mild: true, begin: func() {
			if n := b.EndLeases(); n < len(holders) {
				s.Errorf("%d leases were ended; there are %d holders", n, len(holders))
			}
		}, end: nothing, until: nothing})
	}
	if b.Leader == nil {
		return all
	}
	var leader backend.Server
	var since int64
	newcomer := func() {
		w := s.Worker("newcomer", s.Generator("newcomer"))
		s.Recovered(since, w)
		// They may have been connected to the old leader.
		renewed(s, time.Now(), electionTime, holders...)
		w.Terminate(s)
	}
	toLeader := func(do func(backend.Server)) func() {
		return func() { leader, since = b.Leader(), journal.Now(); do(leader) }
	}
	return append(all,
		fault{
			name: "SIGSTOP of the leader", mild: true, until: newcomer,
			begin: toLeader(func(l backend.Server) { l.Freeze(s) }), end: func() { leader.Thaw(s) },
		},
		fault{
			name: "kill -9 of the leader", mild: true, until: newcomer,
			begin: toLeader(backend.Server.Kill), end: b.Restart,
		},
		fault{name: "no majority", begin: func() {
			for _, server := range b.Servers[1:] {
				server.Kill()
			}
		}, end: b.Restart})
}

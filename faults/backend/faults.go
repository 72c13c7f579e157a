package backend

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd" // the drivers are for Declare
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/kubernetes"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/static"
	_ "github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Elected is a back end whose servers have a leader.
type Elected interface {
	// Leader returns the server that leads, or that is the primary. It waits until
	// there is one.
	Leader(tb testing.TB) Server
}

// Divisible is a back end whose servers can be separated from each other.
type Divisible interface {
	// CutOff separates a server from the others. Clients still reach all of them.
	CutOff(tb testing.TB, s Server)
	// Rejoin ends what CutOff did.
	Rejoin(tb testing.TB, s Server)
}

// SessionEnder is a back end that can end the leases of holders that are alive.
type SessionEnder interface {
	// EndSessions ends all leases of etcd, all sessions of ZooKeeper, all leases and
	// connections of a database, or all leases in Kubernetes, as the servers do for clients of
	// which they have not heard for too long. It returns how many leases or sessions there were.
	EndSessions(tb testing.TB) int
}

// Flusher is a back end that can forget everything while it runs.
type Flusher interface {
	// Flush deletes everything on all servers, as FLUSHALL does.
	Flush(tb testing.TB)
}

// Filler is a back end whose space for data can run out.
type Filler interface {
	// Fill makes the servers refuse writes because there is no space, and Drain ends that.
	Fill(tb testing.TB)
	Drain(tb testing.TB)
}

// Replicated is a back end with a replica that can take the place of the primary.
type Replicated interface {
	Elected
	// Detach ends the replication, so that the replica lacks all writes from now on. It
	// ends with the next Failover or SwitchOver.
	Detach(tb testing.TB)
	// Failover kills the primary and returns when the replica is promoted. The old primary
	// stays away until Restart, and follows the new one then.
	Failover(tb testing.TB)
	// SwitchOver makes the replica the primary, and the primary its replica, without ending
	// either of them, if the servers can do that. It returns when the replica follows.
	SwitchOver(tb testing.TB)
}

// Divided is a back end whose replica can become a second primary, beside the first.
type Divided interface {
	Replicated
	// Guard has the primary confirm only what the replica has.
	Guard(tb testing.TB)
	// Addrs returns where clients reach the primary alone, and the replica alone.
	Addrs(tb testing.TB) (primary, replica string)
	// Split ends the replication, and makes the replica a primary.
	Split(tb testing.TB)
}

// Sharded is a back end that keeps different namespaces on different servers.
type Sharded interface {
	// Owner returns the server that has a namespace.
	Owner(tb testing.TB, namespace string) Server
	// Migrate moves a namespace to the next server.
	Migrate(tb testing.TB, namespace string)
}

// Layered is a back end whose clients reach a server that keeps everything in another one.
type Layered interface {
	// Front returns the server that clients reach, and Store the one below it.
	Front() Server
	Store() Server
	// Between stands between the two.
	Between() *proxy.Proxy
	// RestoreBelow is Restore of the data below a front that goes on, and is not told.
	RestoreBelow(tb testing.TB, snapshot string)
}

// Hosted is a back end whose server is part of a program that uses it.
type Hosted interface {
	// Host returns the number of the process in which the server runs now.
	Host(tb testing.TB) int
}

// Declare declares the namespace of a URL with these options new. A back end that cannot
// tell new from lost, as Redis cannot, then serves at once instead of after a quarantine.
// For [Namespace] and the default layout, Start has done it where that matters.
func Declare(tb testing.TB, b Backend, layout core.Layout, options ...string) {
	tb.Helper()
	ctx := streamtest.Within(tb)
	c, err := coord.Open(ctx, b.URL(options...), coord.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	admin, ok := c.(coord.Admin)
	if !ok {
		return // there is nothing to declare
	}
	for err = admin.Init(ctx, layout.Space()); err != nil && ctx.Err() == nil && !coord.Permanent(err); {
		err = admin.Init(ctx, layout.Space())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

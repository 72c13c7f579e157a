// Package backend runs the coordinators of the fault suite: real servers, which the
// packages below internal/testserver start as processes, behind one interface, with the
// faults that each kind of server can have.
//
// Servers of etcd and programs that share an embedded etcd are the program itself,
// started again. So it calls [Main] first, in main and in TestMain.
package backend

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// Backend is one coordinator and its servers. Methods that take a testing.TB end the
// test if the fault cannot be injected, and are not for concurrent use. Interfaces with
// further faults, which only some back ends have, are beside it in this package.
type Backend interface {
	// Name is the name that [Start] was given.
	Name() string
	// URL returns the URL of the coordinator, through the proxy where there is one.
	// Options have the form "name=value", and those of the URL's scheme are allowed.
	// The option "namespace" is allowed for every scheme; the default is [Namespace].
	URL(options ...string) string
	// Proxy stands between the servers and all clients that use the URL. Nil: this back
	// end has none.
	Proxy() *proxy.Proxy
	// IsCall reports whether bytes that a client sends contain a call of a coordinator,
	// rather than the opening of a connection. It is for faults of the proxy that wait
	// for a request.
	IsCall(request []byte) bool

	// Servers returns the servers one by one. The back ends that are files have none.
	Servers() []Server
	// Stop ends all servers in good order, and Kill as kill -9 does.
	Stop(tb testing.TB)
	Kill(tb testing.TB)
	// Restart starts all servers that have ended, with the data that they have, and
	// waits until they serve.
	Restart(tb testing.TB)
	// Freeze stops all servers without ending them, and Thaw lets them go on.
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)

	// Snapshot copies the data folders of all servers, which stand still for that
	// moment, and returns the folder with the copy. The copy is what a crash at that
	// moment would leave.
	Snapshot(tb testing.TB) string
	// Restore ends all servers, replaces their data by a snapshot, and starts them
	// again. A snapshot can be restored several times.
	Restore(tb testing.TB, snapshot string)
}

// Server is one server of a back end.
type Server interface {
	Kill()                   // as kill -9; returns when the process is gone
	Terminate(tb testing.TB) // in good order; returns when the process is gone
	Restart(tb testing.TB)   // after Kill or Terminate; returns when it serves
	Freeze(tb testing.TB)    // as SIGSTOP; returns when the process stands still
	Thaw(tb testing.TB)
	Done() <-chan struct{} // closed when the process is gone; another channel after Restart
}

// Namespace is the namespace of a URL without the option of that name.
const Namespace = "faults"

// starters has the back ends by their names.
var starters = map[string]func(tb testing.TB) Backend{
	"file":             startFile,
	"static":           startStatic,
	"etcd":             startEtcd,
	"etcd3":            startEtcd3,
	"embedded":         startEmbedded,
	"redis":            startRedis,
	"sentinel":         startSentinel,
	"cluster":          startCluster,
	"zk":               startZK,
	"zk3":              startZK3,
	"postgres":         startPostgres,
	"postgres-standby": startStandby,
	"mariadb":          startMariaDB,
	"mariadb-replica":  startReplica,
	"kubernetes":       startKubernetes,
}

// Names returns the names of all back ends in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(starters)) }

// Start runs a back end, which ends with the test. If its servers are not installed,
// the test is skipped, see package proctest.
func Start(tb testing.TB, name string) Backend {
	tb.Helper()
	start, ok := starters[name]
	if !ok {
		tb.Fatalf("there is no back end %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return start(tb)
}

// Main runs a server and ends the process if it was started to be one. Otherwise it
// only mutes the Redis client, which logs each failure to connect for the whole process.
func Main() {
	goredis.SetLogger(mute{})
	etcdtest.Main()
	programMain()
}

// mute is a logger of the Redis client that logs nothing.
type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// Rolling ends each server in good order and starts it again, one after the other.
// After each, it calls between, which may be nil.
func Rolling(tb testing.TB, b Backend, between func()) {
	tb.Helper()
	for _, s := range b.Servers() {
		s.Terminate(tb)
		s.Restart(tb)
		if between != nil {
			between()
		}
	}
}

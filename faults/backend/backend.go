// Package backend runs the coordinators of the fault suite: real servers, which the packages
// below internal/testserver start as processes, with the faults that each kind of server can
// have.
package backend

import (
	"bytes"
	"context"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd" // the drivers are for Declare
	_ "github.com/unalike-id/unalike/coord/etcd/embedded"
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/kubernetes"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/static"
	_ "github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Backend is one coordinator and its servers, for one test. Its methods end the test if the fault
// cannot be injected, and are not for concurrent use.
type Backend struct {
	Name    string
	Way     Way      // before the servers, for all clients that use the URL; empty: there is none
	Servers []Server // none, where the back end is a file or a part of its users

	// Leader waits until there is a server that leads; nil: all are equal.
	Leader func() Server
	// EndLeases ends all leases or sessions as the servers do for clients of which they have not
	// heard for too long, and returns how many there were; nil: there are none.
	EndLeases func() int
	// Faults are what else can happen to servers of this kind, without a loss.
	Faults []Fault
	// Losses are ways in which what is stored is lost, or some of it, and the servers go on.
	Losses []Loss
	// Exec makes statements at a database.
	Exec func(statements ...string)

	tb     testing.TB
	url    func(options url.Values) string
	call   []byte // text in lower case that every call of a coordinator contains
	dirs   []string
	formed func() // waits until servers have found each other; nil: they need not
}

// Fault is something that lasts until it is ended.
type Fault struct {
	Name       string
	Begin, End func()
}

// Names of faults of several kinds of servers.
const (
	noSpace = "no space for writes"
	AllRows = "locks on all rows"
)

// Loss is a way to lose what is stored.
type Loss struct {
	Name string
	// Keep is called before the writes that are lost; nil: all are.
	Keep func()
	Do   func()
}

// Server is one server of a back end.
type Server interface {
	proctest.Restarter
	Kill()                   // as kill -9; returns when the process is gone
	Terminate(tb testing.TB) // in good order; returns when the process is gone
	Freeze(tb testing.TB)    // as SIGSTOP; returns when the process stands still
	Thaw(tb testing.TB)
	Ended() bool // whether the process is gone
}

// Namespace is the namespace of a URL without the option of that name.
const Namespace = "faults"

// starters has the back ends by their names.
var starters = map[string]func(tb testing.TB) *Backend{
	"file":       startFile,
	"static":     startStatic,
	"embedded":   startEmbedded,
	"etcd":       func(tb testing.TB) *Backend { return startEtcd(tb, 1) },
	"etcd3":      func(tb testing.TB) *Backend { return startEtcd(tb, 3) },
	"redis":      startRedis,
	"sentinel":   startSentinel,
	"cluster":    startCluster,
	"zk":         func(tb testing.TB) *Backend { return startZK(tb, 1) },
	"zk3":        func(tb testing.TB) *Backend { return startZK(tb, 3) },
	"postgres":   startPostgres,
	"mariadb":    startMariaDB,
	"kubernetes": startKubernetes,
}

// Names returns the names of all back ends in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(starters)) }

// Start runs a back end, which ends with the test, and declares its namespace new. If its
// servers are not installed, the test is skipped, see package proctest.
func Start(tb testing.TB, name string) *Backend {
	tb.Helper()
	start, ok := starters[name]
	if !ok {
		tb.Fatalf("there is no back end %q; there are %s", name, strings.Join(Names(), ", "))
	}
	b := start(tb)
	b.Name, b.tb = name, tb
	if name != "static" { // each worker ID is a namespace there, and the URL says that it is new
		Declare(tb, b.URL(), core.DefaultLayout().Space())
	}
	return b
}

// Declare declares the namespace of a URL new, so that its first generator need not wait.
func Declare(tb testing.TB, rawURL string, space coord.Space) {
	tb.Helper()
	ctx := streamtest.Within(tb)
	c, err := coord.Open(ctx, rawURL, coord.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	admin := c.(coord.AdminCoordinator)
	for err = admin.Init(ctx, space); err != nil && ctx.Err() == nil && !coord.Permanent(err); {
		err = admin.Init(ctx, space)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// The Redis client logs each failure to connect for the whole process.
func init() { goredis.SetLogger(mute{}) }

// mute is a logger of the Redis client that logs nothing.
type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// URL returns the URL of the coordinator, by the proxy where there is one. Options have the form
// "name=value". The option "namespace" is allowed for every scheme; the default is [Namespace].
func (b *Backend) URL(options ...string) string {
	values := url.Values{"namespace": {Namespace}}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		values.Set(name, value)
	}
	return b.url(values)
}

// IsCall reports whether bytes that a client sends contain a call of a coordinator, rather than
// the opening of a connection. A watch of Kubernetes decides nothing.
func (b *Backend) IsCall(request []byte) bool {
	return bytes.Contains(bytes.ToLower(request), b.call) &&
		!bytes.Contains(request, []byte("watch=true"))
}

// Each calls do for each server.
func (b *Backend) Each(do func(Server)) {
	for _, s := range b.Servers {
		do(s)
	}
}

// Kill ends all servers as kill -9 does.
func (b *Backend) Kill() { b.Each(Server.Kill) }

// Freeze stops all servers without ending them, and Thaw lets them go on.
func (b *Backend) Freeze() { b.Each(func(s Server) { s.Freeze(b.tb) }) }

// Thaw ends Freeze.
func (b *Backend) Thaw() { b.Each(func(s Server) { s.Thaw(b.tb) }) }

// Restart starts all servers that have ended, with the data that they have, and waits until they
// serve.
func (b *Backend) Restart() {
	proctest.Restart(b.tb, b.Servers...)
	if b.formed != nil {
		b.formed()
	}
}

// Snapshot copies the data of all servers, which stand still for that moment, into a folder.
func (b *Backend) Snapshot() string {
	b.Freeze()
	defer b.Thaw()
	snapshot := b.tb.TempDir()
	for i, dir := range b.dirs {
		proctest.Copy(b.tb, dir, filepath.Join(snapshot, strconv.Itoa(i)))
	}
	return snapshot
}

// Restore ends all servers, replaces their data by a snapshot, and starts them again. A snapshot
// can be restored several times.
func (b *Backend) Restore(snapshot string) {
	b.Kill()
	for i, dir := range b.dirs {
		if err := os.RemoveAll(dir); err != nil {
			b.tb.Fatal(err)
		}
		proctest.Copy(b.tb, filepath.Join(snapshot, strconv.Itoa(i)), dir)
	}
	b.Restart()
}

// query returns options as the end of a URL.
func query(options url.Values) string {
	if len(options) == 0 {
		return ""
	}
	return "?" + options.Encode()
}

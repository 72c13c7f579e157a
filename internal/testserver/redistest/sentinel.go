package redistest

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// MasterName is what the Sentinel calls its master.
const MasterName = "mymaster"

// Replicated is a primary with a replica, and a Sentinel that looks after them.
type Replicated struct {
	Primary, Replica *Server // as they were at the start
	Sentinel         string  // host:port
	watcher          *proctest.Server
}

// RestartSentinel ends the Sentinel and starts it again.
func (r *Replicated) RestartSentinel(tb testing.TB) {
	tb.Helper()
	r.watcher.Kill()
	r.watcher.Restart(tb)
}

// StartReplicated runs two servers and a Sentinel that end with the test, and returns
// when the replica follows the primary and the Sentinel knows both.
func StartReplicated(tb testing.TB, o Options) *Replicated {
	tb.Helper()
	r := StartPair(tb, o)
	proctest.Need(tb, packages, "redis-sentinel")
	port := proctest.FreePorts(tb, 1)[0]
	r.Sentinel = proctest.Addr(port)
	of := " " + MasterName + " "
	lines := []string{
		"bind 127.0.0.1", "dir " + tb.TempDir(), "protected-mode no",
		"sentinel monitor" + of + strings.ReplaceAll(r.Primary.Addr, ":", " ") + " 1",
		"sentinel down-after-milliseconds" + of + o.silence(),
		"sentinel failover-timeout" + of + "2000", "sentinel parallel-syncs" + of + "1",
	}
	if o.Password != "" {
		lines = append(lines, "sentinel auth-pass"+of+o.Password)
	}
	if o.TLS != (TLS{}) {
		lines = append(lines, "port 0", "tls-port "+strconv.Itoa(port), "tls-replication yes")
		for _, f := range o.TLS.files() {
			lines = append(lines, f[0]+" "+f[1])
		}
	} else {
		lines = append(lines, "port "+strconv.Itoa(port))
	}
	conf := filepath.Join(tb.TempDir(), "sentinel.conf")
	proctest.Write(tb, conf, strings.Join(lines, "\n")+"\n")
	r.watcher = listens(r.Sentinel, "redis-sentinel", conf)
	r.watcher.Restart(tb)
	awaits(tb, connect(tb, r.Sentinel, Options{TLS: o.TLS}), "master-link-status ok", "SENTINEL",
		"REPLICAS", MasterName)
	return r
}

// StartPair runs a primary and a replica that end with the test, without a Sentinel,
// and returns when the replica follows the primary.
func StartPair(tb testing.TB, o Options) *Replicated {
	tb.Helper()
	ports := free(tb, 2)
	o.Args = append([]string{
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, o.Args...)
	start := func(port int) *Server {
		// The role is in a file, which the Sentinel has a server rewrite when it changes it.
		file := filepath.Join(tb.TempDir(), "redis.conf")
		proctest.Write(tb, file, "")
		return newServer(tb, o, proctest.Addr(port), file)
	}
	r := &Replicated{Primary: start(ports[0]), Replica: start(ports[1])}
	r.Replica.FollowFromStart(tb, r.Primary)
	proctest.Restart(tb, r.Primary, r.Replica)
	AwaitLink(tb, r.Replica)
	return r
}

// FollowFromStart makes a server of a [Replicated], which does not run, follow the other one
// from its next start on. Otherwise it may begin as what it was, until the Sentinel changes
// that, which takes some ten seconds.
func (s *Server) FollowFromStart(tb testing.TB, primary *Server) {
	tb.Helper()
	proctest.Write(tb, s.file, "replicaof "+strings.ReplaceAll(primary.Addr, ":", " ")+"\n")
}

// AwaitLink waits until a replica follows its primary.
func AwaitLink(tb testing.TB, replica *Server) {
	tb.Helper()
	awaits(tb, replica.Client(tb), "master_link_status:up", "INFO", "replication")
}

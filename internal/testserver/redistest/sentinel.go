package redistest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// MasterName is what the Sentinel calls its master.
const MasterName = "mymaster"

// Replicated is a primary with a replica, and a Sentinel that looks after them.
type Replicated struct {
	Primary, Replica *Server // as they were at the start
	Sentinel         string  // host:port
	process          *proctest.Process
}

// StartReplicated runs two servers and a Sentinel that end with the test, and returns
// when the replica follows the primary and the Sentinel knows both.
func StartReplicated(tb testing.TB, o Options) *Replicated {
	tb.Helper()
	r := StartPair(tb, o)
	proctest.Need(tb, packages, "redis-sentinel")
	proctest.OnFreePorts(tb, 1, func(ports []int) bool {
		r.Sentinel = addr(ports[0])
		return r.startSentinel(tb, o)
	}, func() string { return "redis-sentinel" })
	sentinel := Connect(tb, r.Sentinel, "")
	eventually(tb, "the Sentinel knows the replica", func() bool {
		all, err := sentinel.Do(tb.Context(), "SENTINEL", "REPLICAS", MasterName).Slice()
		return err == nil && len(all) == 1 && !strings.Contains(fmt.Sprint(all), "disconnected")
	})
	return r
}

// StartPair runs a primary and a replica that end with the test, without a Sentinel,
// and returns when the replica follows the primary.
func StartPair(tb testing.TB, o Options) *Replicated {
	tb.Helper()
	proctest.Need(tb, packages, "redis-server")
	often := []string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}
	// The role is in a file, which the Sentinel has a server rewrite when it changes it.
	start := func(role string) *Server {
		s := &Server{
			Dir: tb.TempDir(), opts: o, file: filepath.Join(tb.TempDir(), "redis.conf"),
			args: often,
		}
		write(tb, s.file, role)
		s.startAnywhere(tb)
		return s
	}
	r := &Replicated{Primary: start("")}
	r.Replica = start(replicaOf(r.Primary))
	AwaitLink(tb, r.Replica)
	return r
}

// replicaOf is the configuration of a server that follows another one.
func replicaOf(primary *Server) string {
	return "replicaof " + strings.ReplaceAll(primary.Addr, ":", " ") + "\n"
}

// FollowFromStart makes a server of a [Replicated], which has ended, follow the other one
// from its next start on. Otherwise it may begin as what it was, until the Sentinel changes
// that, which takes some ten seconds.
func (s *Server) FollowFromStart(tb testing.TB, primary *Server) {
	tb.Helper()
	write(tb, s.file, replicaOf(primary))
}

// AwaitLink waits until a replica follows its primary.
func AwaitLink(tb testing.TB, replica *Server) {
	tb.Helper()
	c := replica.Client(tb)
	eventually(tb, "the replica follows the primary", func() bool {
		info, err := c.Info(tb.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
}

func (r *Replicated) startSentinel(tb testing.TB, o Options) bool {
	tb.Helper()
	host, port, _ := strings.Cut(r.Sentinel, ":")
	lines := []string{
		"port " + port, "bind " + host, "dir " + tb.TempDir(), "protected-mode no",
		"sentinel monitor " + MasterName + " " + strings.ReplaceAll(r.Primary.Addr, ":", " ") + " 1",
		"sentinel down-after-milliseconds " + MasterName + " " + o.silence(),
		"sentinel failover-timeout " + MasterName + " 2000",
		"sentinel parallel-syncs " + MasterName + " 1",
	}
	if o.Password != "" {
		lines = append(lines, "sentinel auth-pass "+MasterName+" "+o.Password)
	}
	conf := filepath.Join(tb.TempDir(), "sentinel.conf")
	write(tb, conf, strings.Join(lines, "\n")+"\n")
	cmd := exec.Command("redis-sentinel", conf)
	r.process = proctest.Start(tb, cmd)
	return awaitPort(tb, r.Sentinel, r.process)
}

// Client returns a client that finds the primary through the Sentinel, as package
// coord/redis wants one, and is closed with the test.
func (r *Replicated) Client(tb testing.TB) *goredis.Client {
	tb.Helper()
	c := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: MasterName, SentinelAddrs: []string{r.Sentinel}, Password: r.Primary.opts.Password,
		MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, Protocol: 2,
		DialTimeout: readyTime, ReadTimeout: readyTime, WriteTimeout: readyTime, PoolTimeout: readyTime,
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

package etcdtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

const (
	readyTime = proctest.ReadyTime
	// terminateTime is how long a server may take to end in good order. It gives requests 7 s.
	terminateTime = 10 * time.Second
)

// Server is an etcd in a process of its own.
type Server struct {
	Endpoint string    // host:port
	Dir      string    // the data folder
	input    io.Closer // its end is the end of the server
	*proctest.Server
}

// Start runs an etcd that ends with the test. Its ticks are ten times as fast as
// etcd's own, and it does not wait for the disk.
func Start(tb testing.TB) *Server { tb.Helper(); return StartTLS(tb, TLS{}) }

// StartTLS is Start for a server that wants certificates of its clients.
func StartTLS(tb testing.TB, files TLS) *Server {
	tb.Helper()
	return start(tb, 1, config{Tick: 10 * time.Millisecond, TLS: files})[0]
}

// StartCluster runs the n members of a cluster, with etcd's standard ticks. They end with the test.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	return start(tb, n, config{Tick: 100 * time.Millisecond})
}

// start runs members of a cluster that have something in common.
func start(tb testing.TB, n int, common config) (all []*Server) {
	tb.Helper()
	ports := proctest.FreePorts(tb, 2*n)
	var peers []string
	for i := range n {
		peers = append(peers, fmt.Sprintf("m%d=http://%s", i, proctest.Addr(ports[n+i])))
	}
	common.Peers = strings.Join(peers, ",")
	for i := range n {
		cfg := common
		cfg.Name, cfg.Dir = fmt.Sprintf("m%d", i), tb.TempDir()
		cfg.Client, cfg.Peer = proctest.Addr(ports[i]), proctest.Addr(ports[n+i])
		all = append(all, newServer(tb, cfg))
	}
	proctest.Restart(tb, all...)
	return all
}

// newServer returns a server that is not started: this program, started again.
func newServer(tb testing.TB, cfg config) *Server {
	tb.Helper()
	raw, err := json.Marshal(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Endpoint: cfg.Client, Dir: cfg.Dir}
	s.Server = proctest.NewServer(func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), configEnv+"="+string(raw))
		if s.input, err = cmd.StdinPipe(); err != nil {
			tb.Fatal(err)
		}
		return cmd
	}, func() bool { return strings.Contains(s.Said(), readyLine) })
	return s
}

// Terminate ends the server in good order: one that leads hands that over before. It
// returns when the process is gone. One that takes too long is killed, as service managers do
// it: etcd waits for every connection on which nothing has come yet, for as long as that
// stays open.
func (s *Server) Terminate(testing.TB) {
	_ = s.input.Close() // fails if the process is gone
	s.EndIn(terminateTime)
}

// Client returns a client of the server that is closed with the test.
func (s *Server) Client(tb testing.TB, opts ...grpc.DialOption) *clientv3.Client {
	tb.Helper()
	return Connect(tb, []string{s.Endpoint}, opts...)
}

// Connect returns a client of the servers at the given addresses that is closed with
// the test.
func Connect(tb testing.TB, endpoints []string, opts ...grpc.DialOption) *clientv3.Client {
	tb.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(), DialOptions: opts, DialTimeout: readyTime,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		tb.Fatalf("etcd client: %v", err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

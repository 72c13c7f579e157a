package etcdtest

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Server is a single etcd inside this process.
type Server struct {
	Endpoint string // host:port
	Dir      string // the data folder
	cfg      config
	etcd     *embed.Etcd // nil: stopped
}

// Start runs an etcd that ends with the test. Its ticks are ten times as fast as
// etcd's own, and it does not wait for the disk.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return StartTLS(tb, TLS{})
}

// StartTLS is Start for a server that wants certificates of its clients.
func StartTLS(tb testing.TB, files TLS) *Server {
	tb.Helper()
	ports, dir := proctest.FreePorts(tb, 2), tb.TempDir()
	peer := proctest.Addr(ports[1])
	s := &Server{Endpoint: proctest.Addr(ports[0]), Dir: dir}
	s.cfg = config{
		Name: "single", Dir: dir, Client: s.Endpoint, Peer: peer,
		Peers: "single=http://" + peer, Tick: 10 * time.Millisecond, TLS: files,
	}
	tb.Cleanup(s.Stop)
	s.Restart(tb)
	return s
}

// Stop ends the server and returns when it has ended. The data stays.
func (s *Server) Stop() {
	if s.etcd == nil {
		return
	}
	s.etcd.Close()
	<-s.etcd.Server.StopNotify()
	s.etcd = nil
}

// Restart starts the server again, at the same address, with what is in its folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	var err error
	// What the server has served before may hold the address for a moment longer.
	proctest.Eventually(tb, readyTime, "etcd starts", func() bool {
		s.etcd, err = s.cfg.start()
		return err == nil || !strings.Contains(err.Error(), "address already in use")
	})
	if err != nil {
		tb.Fatalf("etcd does not start: %v", err)
	}
}

// Client returns a client of the server that is closed with the test.
func (s *Server) Client(tb testing.TB, opts ...grpc.DialOption) *clientv3.Client {
	tb.Helper()
	return Connect(tb, []string{s.Endpoint}, opts...)
}

// Connect returns a client of the members at the given addresses that is closed with
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

package etcdtest

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// startTries is how often a server is started at other ports, because somebody was
// faster.
const startTries = 3

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
	for try := 1; ; try++ {
		addrs := freeAddrs(tb, 2)
		s := &Server{Endpoint: addrs[0], Dir: tb.TempDir()}
		s.cfg = config{
			Name: "single", Dir: s.Dir, Client: addrs[0], Peer: addrs[1],
			Peers: "single=http://" + addrs[1],
			Tick:  10 * time.Millisecond, TLS: files,
		}
		var err error
		if s.etcd, err = s.cfg.start(); err == nil {
			tb.Cleanup(s.Stop)
			return s
		}
		if try == startTries {
			tb.Fatalf("etcd does not start: %v", err)
		}
	}
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
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	// What the server has served before may hold the address for a moment longer.
	for deadline := time.Now().Add(readyTime); ; <-retry.C {
		if s.etcd, err = s.cfg.start(); err == nil {
			return
		}
		if !strings.Contains(err.Error(), "address already in use") || time.Now().After(deadline) {
			tb.Fatalf("etcd does not start: %v", err)
		}
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

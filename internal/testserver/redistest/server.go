package redistest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// packages are what has the programs, on Debian and its kin.
const packages = "redis-server redis-sentinel"

const readyTime = proctest.ReadyTime

// Options say what a server is to be like. The zero Options is a server without a
// password that keeps nothing on disk.
type Options struct {
	Password   string   // requirepass; empty: none
	TLS        TLS      // files; the zero TLS: none
	AppendOnly bool     // whether every write reaches the disk
	Args       []string // more arguments of redis-server, such as "--maxmemory", "100mb"
	// Silence is how long a server says nothing until the Sentinel, or the other nodes of
	// the Cluster, take it for dead. 0: longer than one waits for a processor.
	Silence time.Duration
	// Announce returns the address that a node of a Cluster tells clients to use instead of
	// its own: that of a proxy. It is called once for each node, before the node starts.
	// Nil: their own.
	Announce func(tb testing.TB, addr string) string
}

// silence returns o.Silence as an argument, in milliseconds.
func (o Options) silence() string {
	return strconv.FormatInt(cmp.Or(o.Silence, readyTime).Milliseconds(), 10)
}

// TLS is the files of a server that wants certificates of its clients. The zero TLS
// is none.
type TLS struct {
	CA, Cert, Key string
}

// Server is a redis-server in a process of its own.
type Server struct {
	Addr              string // host:port
	Dir               string // the data folder
	opts              Options
	file              string   // the configuration file; empty: none
	args              []string // beyond those that all have
	output            *proctest.Output
	*proctest.Process // of the last launch
}

// Start runs a single server that ends with the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	proctest.Need(tb, packages, "redis-server")
	s := &Server{Dir: tb.TempDir(), opts: o}
	s.startAnywhere(tb)
	return s
}

// startAnywhere starts the server on a port that is free.
func (s *Server) startAnywhere(tb testing.TB) {
	tb.Helper()
	proctest.OnFreePorts(tb, 1, func(ports []int) bool {
		s.Addr = addr(ports[0])
		return s.launch(tb)
	}, func() string { return s.output.String() })
}

// Restart starts the server again, at the same address, with what is in its folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if !s.launch(tb) {
		tb.Fatalf("redis-server does not start again:\n%s", s.output)
	}
}

// Terminate ends the server in good order, and returns when the process is gone. It asks
// again and again, because a server refuses while it writes its first append-only file.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	c := s.Client(tb)
	eventually(tb, s.Addr+" ends", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		_ = c.Shutdown(ctx).Err() // the connection ends with the server
		return s.Ended()
	})
}

// launch starts the process and tells whether it serves; false: it ended.
func (s *Server) launch(tb testing.TB) bool {
	tb.Helper()
	s.output = new(proctest.Output)
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	var args []string
	if s.file != "" {
		args = append(args, s.file)
	}
	args = append(args, "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--daemonize", "no",
		"--logfile", "")
	if s.opts.AppendOnly {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	if s.opts.Password != "" {
		args = append(args, "--requirepass", s.opts.Password, "--masterauth", s.opts.Password)
	}
	if t := s.opts.TLS; t != (TLS{}) {
		args = append(args, "--port", "0", "--tls-port", port, "--tls-ca-cert-file", t.CA,
			"--tls-cert-file", t.Cert, "--tls-key-file", t.Key)
	} else {
		args = append(args, "--port", port)
	}
	args = append(append(args, s.args...), s.opts.Args...)
	cmd := exec.Command("redis-server", args...)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	s.Process = proctest.Start(tb, cmd)
	return awaitPort(tb, s.Addr, s.Process)
}

// awaitPort waits until a process listens at an address; false: it ended before.
func awaitPort(tb testing.TB, addr string, p *proctest.Process) bool {
	tb.Helper()
	return p.Serves(tb, func() bool { return proctest.Listens(addr) })
}

// Client returns a client of the server, as package coord/redis wants one, that is
// closed with the test. It is not for servers with TLS.
func (s *Server) Client(tb testing.TB) *goredis.Client {
	tb.Helper()
	return Connect(tb, s.Addr, s.opts.Password)
}

// Connect returns a client of the server at an address that is closed with the test.
func Connect(tb testing.TB, addr, password string) *goredis.Client {
	tb.Helper()
	c := goredis.NewClient(&goredis.Options{
		Addr: addr, Password: password, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		Protocol: 2,
		// The library's own are a few seconds; what ends a call is its context.
		DialTimeout: readyTime, ReadTimeout: readyTime, WriteTimeout: readyTime, PoolTimeout: readyTime,
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Do runs a command and returns its reply as text. It must succeed.
func (s *Server) Do(tb testing.TB, args ...any) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), readyTime)
	defer cancel()
	v, err := s.Client(tb).Do(ctx, args...).Result()
	if err != nil {
		tb.Fatalf("redis %v: %v", args, err)
	}
	return fmt.Sprint(v)
}

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// write stores a file of a server's configuration.
func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	proctest.Eventually(tb, readyTime, what, so)
}

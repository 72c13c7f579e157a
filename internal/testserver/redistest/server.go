package redistest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/tlsfiles"
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

// files are the settings of the files and their paths.
func (t TLS) files() [][2]string {
	return [][2]string{
		{"tls-ca-cert-file", t.CA}, {"tls-cert-file", t.Cert}, {"tls-key-file", t.Key},
	}
}

// Server is a redis-server in a process of its own.
type Server struct {
	Addr string // host:port
	Dir  string // the data folder
	opts Options
	file string // of its configuration; empty: none
	*proctest.Server
}

// Start runs a single server that ends with the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := newServer(tb, o, proctest.Addr(free(tb, 1)[0]), "")
	s.Restart(tb)
	return s
}

// free returns free ports, if there is a Redis.
func free(tb testing.TB, n int) []int {
	tb.Helper()
	proctest.Need(tb, packages, "redis-server")
	return proctest.FreePorts(tb, n)
}

// newServer returns a server that is not started; empty: it has no file of its configuration.
func newServer(tb testing.TB, o Options, addr, file string) *Server {
	tb.Helper()
	s := &Server{Addr: addr, Dir: tb.TempDir(), opts: o, file: file}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	args := []string{
		"--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--daemonize", "no", "--logfile", "",
	}
	if file != "" {
		args = append([]string{file}, args...)
	}
	if o.AppendOnly {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	if o.Password != "" {
		args = append(args, "--requirepass", o.Password, "--masterauth", o.Password)
	}
	if o.TLS != (TLS{}) {
		args = append(args, "--port", "0", "--tls-port", port, "--tls-replication", "yes")
		for _, f := range o.TLS.files() {
			args = append(args, "--"+f[0], f[1])
		}
	} else {
		args = append(args, "--port", port)
	}
	s.Server = listens(addr, "redis-server", append(args, o.Args...)...)
	return s
}

// listens is a program that listens at an address when it serves.
func listens(addr, program string, args ...string) *proctest.Server {
	return proctest.NewServer(func() *exec.Cmd { return exec.Command(program, args...) },
		func() bool { return proctest.Listens(addr) })
}

// Terminate ends the server in good order, and returns when the process is gone. It asks
// again and again, because a server refuses while it writes its first append-only file.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	c := s.Client(tb)
	proctest.Eventually(tb, readyTime, s.Addr+" ends", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		_ = c.Shutdown(ctx).Err() // the connection ends with the server
		return s.Ended()
	})
}

// awaits waits until something is in the reply to a command, as text.
func awaits(tb testing.TB, c *goredis.Client, part string, command ...any) {
	tb.Helper()
	proctest.Eventually(tb, readyTime, fmt.Sprintf("%q is in the reply to %v", part, command),
		func() bool {
			reply, err := c.Do(tb.Context(), command...).Result()
			return err == nil && strings.Contains(fmt.Sprint(reply), part)
		})
}

// Reloader connects to a server with TLS, and returns a function that has it read its files again
// and end all other connections of clients.
func (s *Server) Reloader(tb testing.TB) (reload func()) {
	tb.Helper()
	c := s.Client(tb)
	do := func(args ...any) {
		tb.Helper()
		if err := c.Do(tb.Context(), args...).Err(); err != nil {
			tb.Fatalf("redis %v: %v", args, err)
		}
	}
	do("PING")
	return func() {
		tb.Helper()
		set := []any{"CONFIG", "SET"}
		for _, f := range s.opts.TLS.files() {
			set = append(set, f[0], f[1])
		}
		do(set...)
		do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}
}

// Client returns a client of the server that is closed with the test.
func (s *Server) Client(tb testing.TB) *goredis.Client {
	tb.Helper()
	return connect(tb, s.Addr, s.opts)
}

// Connect returns a client of the server at an address that is closed with the test.
func Connect(tb testing.TB, addr, password string) *goredis.Client {
	tb.Helper()
	return connect(tb, addr, Options{Password: password})
}

// connect is Connect for a server with options.
func connect(tb testing.TB, addr string, o Options) *goredis.Client {
	tb.Helper()
	options := &goredis.Options{
		Addr: addr, Password: o.Password, MaxRetries: -1, ContextTimeoutEnabled: true,
		DialerRetries: 1, Protocol: 2,
		// The library's own are a few seconds; what ends a call is its context.
		DialTimeout: readyTime, ReadTimeout: readyTime, WriteTimeout: readyTime, PoolTimeout: readyTime,
	}
	if t := o.TLS; t != (TLS{}) {
		options.Dialer = (&tlsfiles.Files{CA: t.CA, Cert: t.Cert, Key: t.Key}).Dial
	}
	c := goredis.NewClient(options)
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

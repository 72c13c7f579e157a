// Package pgtest runs PostgreSQL servers for tests.
package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Server is a PostgreSQL server in processes of its own, which trusts everybody on this
// machine.
type Server struct {
	Port   string
	Dir    string   // the data folder
	frozen []string // the numbers of its processes that were stopped, but for the first
	args   []string
	tls    TLS
	*proctest.Server
}

// TLS is the files of a server with TLS. With CA, it wants certificates of clients that use TLS.
type TLS struct{ CA, Cert, Key string }

// URL is where the server is, for clients.
func (s *Server) URL() string { return "postgres://postgres@127.0.0.1:" + s.Port + "/postgres" }

// Start runs a server that ends with the test, with more arguments of postgres. All of them have
// the same system identifier.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := newServer(tb, args)
	proctest.Copy(tb, template(tb), s.Dir)
	s.Restart(tb)
	return s
}

// StartTLS is Start of a server with TLS. Each start reads the files.
func StartTLS(tb testing.TB, files TLS) *Server {
	tb.Helper()
	s := newServer(tb, []string{"-c", "ssl=on"})
	s.tls = files
	proctest.Copy(tb, template(tb), s.Dir)
	if files.CA != "" {
		s.args = append(s.args, "-c", "ssl_ca_file=ca.crt")
		s.Allow(tb, "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca")
	}
	s.Restart(tb)
	return s
}

// Allow puts a rule before those that say which clients are let in. The server reads them when it
// starts, and after pg_reload_conf.
func (s *Server) Allow(tb testing.TB, rule string) {
	tb.Helper()
	file := filepath.Join(s.Dir, "pg_hba.conf")
	rules, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	proctest.Write(tb, file, rule+"\n"+string(rules))
}

// copyTLS gives the server the files of TLS as they are now.
func (s *Server) copyTLS(tb testing.TB) {
	tb.Helper()
	for name, from := range map[string]string{
		"ca.crt": s.tls.CA, "server.crt": s.tls.Cert, "server.key": s.tls.Key,
	} {
		if from != "" {
			to := filepath.Join(s.Dir, name)
			certtest.Copy(tb, from, to)
			own(tb, to)
		}
	}
}

// Standby runs a server that has what this one has, and gets what this one writes.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	b := newServer(tb, s.args)
	b.run(tb, "pg_basebackup", "-D", b.Dir, "-h", "127.0.0.1", "-p", s.Port, "-U", "postgres", "-R",
		"-X", "stream", "-c", "fast", "--no-sync")
	b.Restart(tb)
	return b
}

// newServer returns a server without a data folder, which does not run.
func newServer(tb testing.TB, args []string) *Server {
	tb.Helper()
	need(tb)
	dir := proctest.Folder(tb, "unalike-pg-")
	own(tb, dir)
	s := &Server{
		Port: strconv.Itoa(proctest.FreePorts(tb, 1)[0]), Dir: filepath.Join(dir, "data"), args: args,
	}
	s.Server = proctest.NewServer(func() *exec.Cmd {
		s.copyTLS(tb)
		// Memory that processes share is in the data folder, and goes with it.
		return s.Command(tb, Program("postgres"), append([]string{
			"-D", s.Dir, "-p", s.Port, "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=" + dir, "-c", "fsync=off", "-c", "max_connections=300",
			"-c", "dynamic_shared_memory_type=mmap",
		}, s.args...)...)
	}, s.serves)
	return s
}

// serves reports whether somebody can connect.
func (s *Server) serves() bool {
	ctx, cancel := context.WithTimeout(context.Background(), proctest.ReadyTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err == nil {
		_ = conn.Close(ctx)
	}
	return err == nil
}

// Terminate ends the server in good order, with the connections that its clients have. SIGTERM
// would have it wait for them.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	s.Signal(tb, syscall.SIGINT)
	<-s.Done()
}

// template returns a data folder that initdb has made: a copy takes a tenth of the time.
func template(tb testing.TB) string {
	tb.Helper()
	return proctest.Cached(tb, "postgres-"+strconv.Itoa(nobody), func(path string) {
		made := newServer(tb, nil) // whoever runs it may not write to the cache
		made.run(tb, "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
			"--locale=C", "--pgdata", made.Dir)
		proctest.Copy(tb, made.Dir, path)
	}, Program("initdb"))
}

// run runs a program of PostgreSQL, which must succeed.
func (s *Server) run(tb testing.TB, program string, args ...string) {
	tb.Helper()
	if out, err := s.Command(tb, Program(program), args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Program is where a program of PostgreSQL is: Debian does not have them in the path.
func Program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	return name
}

func need(tb testing.TB) {
	tb.Helper()
	proctest.Need(tb, "postgresql", Program("initdb"), Program("postgres"))
}

// nobody is the number of a user, and of a group, that every machine has.
const nobody = 65534

// own gives a file to whoever runs the server.
func own(tb testing.TB, path string) {
	tb.Helper()
	if os.Getuid() == 0 {
		if err := os.Chown(path, nobody, nobody); err != nil {
			tb.Fatal(err)
		}
	}
}

// Command is a program that runs as nobody if this one runs as root, whom PostgreSQL refuses.
func (s *Server) Command(tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		become(cmd)
	}
	return cmd
}

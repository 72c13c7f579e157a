// Package pgtest runs PostgreSQL servers for tests.
package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// packages are what has the programs, on Debian and its kin.
const packages = "postgresql"

// Server is a PostgreSQL server in processes of its own, which trusts everybody on this
// machine.
type Server struct {
	Port string
	Dir  string // the data folder
	args []string
	out  *proctest.Output
	// thawed notes that nothing is stopped any more.
	thawed func()
	*proctest.Process
}

// Socket is the folder of its socket.
func (s *Server) Socket() string { return filepath.Dir(s.Dir) }

// URL is where the server is, for clients.
func (s *Server) URL() string { return "postgres://postgres@127.0.0.1:" + s.Port + "/postgres" }

// Start runs a server that ends with the test, with more arguments of postgres. All of them have
// the same system identifier, see [StartNew].
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, func(s *Server) { proctest.Copy(tb, template(tb), s.Dir) }, args)
}

// StartNew is Start of a server with a system identifier of its own, which takes longer.
func StartNew(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, func(s *Server) { s.initdb(tb) }, args)
}

// StartTLS is Start of a server that has a certificate in its data folder.
func StartTLS(tb testing.TB, cert, key string, args ...string) *Server {
	tb.Helper()
	return start(tb, func(s *Server) {
		proctest.Copy(tb, template(tb), s.Dir)
		s.copyIn(tb, cert, "server.crt")
		s.copyIn(tb, key, "server.key")
	}, append(args, "-c", "ssl=on"))
}

// start runs a server whose data folder fill makes.
func start(tb testing.TB, fill func(*Server), args []string) *Server {
	tb.Helper()
	s := &Server{Dir: filepath.Join(newFolder(tb), "data"), args: args}
	fill(s)
	return s.startAnywhere(tb)
}

// startAnywhere starts the server on a port that is free.
func (s *Server) startAnywhere(tb testing.TB) *Server {
	tb.Helper()
	proctest.OnFreePorts(tb, 1, func(ports []int) bool {
		s.Port = strconv.Itoa(ports[0])
		return s.launch(tb)
	}, func() string { return s.out.String() })
	return s
}

// initdb makes the data folder.
func (s *Server) initdb(tb testing.TB) {
	tb.Helper()
	cmd := s.Command(tb, filepath.Join(folder(tb), "initdb"), "--no-sync", "--auth=trust",
		"--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata", s.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
}

// template returns a data folder that initdb has made: a copy takes a tenth of the time.
func template(tb testing.TB) string {
	tb.Helper()
	return proctest.Cached(tb, "postgres", func(path string) {
		// whoever runs the server may not write to the cache
		made := &Server{Dir: filepath.Join(newFolder(tb), "data")}
		made.initdb(tb)
		proctest.Copy(tb, made.Dir, path)
	}, filepath.Join(folder(tb), "initdb"))
}

// newFolder makes a folder that belongs to whoever runs the server.
func newFolder(tb testing.TB) string {
	tb.Helper()
	dir := proctest.Folder(tb, "unalike-pg-")
	if os.Getuid() == 0 {
		uid, gid := other(tb)
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// copyIn copies a file into the data folder, where only the server may read it.
func (s *Server) copyIn(tb testing.TB, path, name string) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(s.Dir, name)
	if err := os.WriteFile(file, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	if os.Getuid() == 0 {
		uid, gid := other(tb)
		if err := os.Chown(file, int(uid), int(gid)); err != nil {
			tb.Fatal(err)
		}
	}
}

// Restart starts the server again, at the same port, with what is in its folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if !s.launch(tb) {
		tb.Fatalf("postgres does not start again:\n%s", s.out)
	}
}

// launch starts the process and tells whether it serves.
func (s *Server) launch(tb testing.TB) bool {
	tb.Helper()
	s.out = new(proctest.Output)
	args := append([]string{
		"-D", s.Dir, "-p", s.Port, "-c", "listen_addresses=127.0.0.1", "-c",
		"unix_socket_directories=" + filepath.Dir(s.Dir), "-c", "fsync=off", "-c", "max_connections=300",
	},
		s.args...)
	cmd := s.Command(tb, filepath.Join(folder(tb), "postgres"), args...)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	s.Process = proctest.Start(tb, cmd)
	tb.Cleanup(s.Kill)
	return s.Serves(tb, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), proctest.ReadyTime)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			_ = conn.Close(ctx)
		}
		return err == nil
	})
}

// Program is where a program of PostgreSQL is: Debian does not have them in the path.
func Program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	return name
}

// folder is where the programs are.
func folder(tb testing.TB) string {
	tb.Helper()
	if path := Program("initdb"); filepath.IsAbs(path) {
		return filepath.Dir(path)
	}
	proctest.Need(tb, packages, "initdb", "postgres")
	path, err := exec.LookPath("initdb")
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Dir(path)
}

// Command is a program that runs as somebody else if this one is root, whom PostgreSQL
// refuses.
func (s *Server) Command(tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		become(tb, cmd)
	}
	return cmd
}

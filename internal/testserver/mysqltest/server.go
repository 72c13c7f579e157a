// Package mysqltest runs MariaDB servers for tests.
package mysqltest

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the client

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// packages are what has the programs, on Debian and its kin.
const packages = "mariadb-server"

// User is somebody with all rights.
const User = "unalike"

// Password is that of User.
const Password = "pw"

// Database is an empty one.
const Database = "unalike"

// Server is a MariaDB server in a process of its own.
type Server struct {
	Port, Socket string
	Dir          string // the data folder
	args         []string
	log          string
	*proctest.Process
}

// Addr is where the server is.
func (s *Server) Addr() string { return "127.0.0.1:" + s.Port }

// DSN is where the server is, for the Go driver, with more parameters.
func (s *Server) DSN(params string) string {
	return User + ":" + Password + "@tcp(" + s.Addr() + ")/" + Database + params
}

// Start runs a server that ends with the test, with more arguments of mariadbd.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	server := program(tb, "mariadbd")
	dir := proctest.Folder(tb, "unalike-my-")
	s := &Server{
		Dir: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "socket"),
		log: filepath.Join(dir, "log"), args: args,
	}
	if err := os.Mkdir(s.Dir+"-tmp", 0o700); err != nil {
		tb.Fatal(err)
	}
	proctest.Copy(tb, template(tb), s.Dir)
	// Each server does it for itself, whenever it starts, and tells its replicas nothing of it.
	grant := fmt.Sprintf("SET sql_log_bin = 0;\nCREATE DATABASE IF NOT EXISTS %s;\nCREATE USER IF "+
		"NOT EXISTS %s@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION;\n",
		Database, User, Password, User)
	if err := os.WriteFile(filepath.Join(dir, "init.sql"), []byte(grant), 0o600); err != nil {
		tb.Fatal(err)
	}
	proctest.OnFreePorts(tb, 1, func(ports []int) bool {
		s.Port = strconv.Itoa(ports[0])
		return s.launch(tb, server)
	}, func() string { return proctest.Tail(s.log) })
	return s
}

// template returns a data folder that mariadb-install-db has made, which takes longer than a copy.
func template(tb testing.TB) string {
	tb.Helper()
	install := program(tb, "mariadb-install-db")
	return proctest.Cached(tb, "mariadb", func(path string) {
		made := &Server{Dir: path}
		if err := os.Mkdir(made.Dir+"-tmp", 0o700); err != nil {
			tb.Fatal(err)
		}
		cmd := exec.Command(install, append(made.user(), "--auth-root-authentication-method=normal",
			"--skip-test-db", "--innodb-log-file-size=8M", "--innodb-flush-method=nosync")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("mariadb-install-db: %v\n%s", err, out)
		}
	}, install, program(tb, "mariadbd"))
}

// Restart starts the server again, at the same port, with what is in its folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if !s.launch(tb, program(tb, "mariadbd")) {
		tb.Fatalf("mariadbd does not start again:\n%s", proctest.Tail(s.log))
	}
}

// user are the arguments that every program gets: a server refuses to run as root, unless
// it is told to.
func (s *Server) user() []string {
	// each server empties its own
	args := []string{"--no-defaults", "--datadir=" + s.Dir, "--tmpdir=" + s.Dir + "-tmp"}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// launch starts the process and tells whether it serves.
func (s *Server) launch(tb testing.TB, program string) bool {
	tb.Helper()
	args := append(s.user(), "--port="+s.Port, "--bind-address=127.0.0.1", "--socket="+s.Socket,
		"--pid-file="+s.Dir+".pid", "--log-error="+s.log,
		"--init-file="+filepath.Join(filepath.Dir(s.Dir), "init.sql"), "--skip-name-resolve",
		"--innodb-flush-method=nosync",
		"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--max-connections=1500",
		"--performance-schema=OFF")
	s.Process = proctest.Start(tb, exec.Command(program, append(args, s.args...)...))
	db, err := sql.Open("mysql", s.DSN("?timeout=5s"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	return s.Serves(tb, func() bool { return db.Ping() == nil })
}

// Program is where a program of MariaDB is: Debian has servers where only root looks.
func Program(name string) string {
	if path := "/usr/sbin/" + name; exists(path) {
		return path
	}
	return name
}

// program is Program for one that is needed.
func program(tb testing.TB, name string) string {
	tb.Helper()
	if path := Program(name); filepath.IsAbs(path) {
		return path
	}
	proctest.Need(tb, packages, name)
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

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

// Somebody with all rights, with a password, and an empty database.
const (
	User     = "unalike"
	Password = "pw"
	Database = "unalike"
)

// Server is a MariaDB server in a process of its own.
type Server struct {
	Port, Socket string
	Dir          string // the data folder
	*proctest.Server
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
		Port: strconv.Itoa(proctest.FreePorts(tb, 1)[0]),
		Dir:  filepath.Join(dir, "data"), Socket: filepath.Join(dir, "socket"),
	}
	proctest.Copy(tb, template(tb), s.Dir)
	// Each server does it for itself, whenever it starts, and tells its replicas nothing of it.
	grant := fmt.Sprintf("SET sql_log_bin = 0;\nCREATE DATABASE IF NOT EXISTS %s;\nCREATE USER IF "+
		"NOT EXISTS %s@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION;\n",
		Database, User, Password, User)
	init := filepath.Join(dir, "init.sql")
	proctest.Write(tb, init, grant)
	all := append(files(tb, s.Dir), "--port="+s.Port, "--bind-address=127.0.0.1",
		"--socket="+s.Socket, "--pid-file="+s.Dir+".pid", "--init-file="+init, "--skip-name-resolve",
		"--innodb-flush-method=nosync", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
		"--max-connections=1500", "--performance-schema=OFF")
	db, err := sql.Open("mysql", s.DSN("?timeout=5s"))
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxIdleConns(-1) // one that stays holds up the end of the server
	tb.Cleanup(func() { _ = db.Close() })
	s.Server = proctest.NewServer(func() *exec.Cmd {
		return exec.Command(server, append(all, args...)...)
	}, func() bool { return db.Ping() == nil })
	s.Restart(tb)
	return s
}

// Replica runs a server that gets what this one has written in its binary log, which it has
// from its first start on, and what it writes.
func (s *Server) Replica(tb testing.TB, args ...string) *Server {
	tb.Helper()
	r := Start(tb, args...)
	db, err := sql.Open("mysql", r.DSN("?multiStatements=true"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// What the server has written into its own log when it was made is not in the way.
	if _, err := db.Exec(fmt.Sprintf("RESET MASTER; SET GLOBAL gtid_slave_pos = ''; "+
		"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%s, MASTER_USER='%s', "+
		"MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; START SLAVE",
		s.Port, User, Password)); err != nil {
		tb.Fatal(err)
	}
	return r
}

// template returns a data folder that mariadb-install-db has made, which takes longer than a copy.
func template(tb testing.TB) string {
	tb.Helper()
	install := program(tb, "mariadb-install-db")
	return proctest.Cached(tb, "mariadb", func(path string) {
		cmd := exec.Command(install, append(files(tb, path), "--auth-root-authentication-method=normal",
			"--skip-test-db", "--innodb-log-file-size=8M", "--innodb-flush-method=nosync")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("mariadb-install-db: %v\n%s", err, out)
		}
	}, install, program(tb, "mariadbd"))
}

// files are the arguments that every program gets: where its files are, of which each server
// empties its own temporary ones. A server refuses to run as root, unless it is told to.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	if err := os.Mkdir(dir+"-tmp", 0o700); err != nil {
		tb.Fatal(err)
	}
	args := []string{"--no-defaults", "--datadir=" + dir, "--tmpdir=" + dir + "-tmp"}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// program is where a program of MariaDB is: Debian has servers where only root looks.
func program(tb testing.TB, name string) string {
	tb.Helper()
	path := "/usr/sbin/" + name
	if _, err := os.Stat(path); err == nil {
		return path
	}
	proctest.Need(tb, "mariadb-server", name)
	return name
}

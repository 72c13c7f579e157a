package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// bouncer is where Debian has the pooler, which is not in everybody's path.
const bouncer = "/usr/sbin/pgbouncer"

// Bouncer runs a PgBouncer in transaction mode with two connections to the server, which ends with
// the test. It returns where it is, for clients, once it listens.
func (s *Server) Bouncer(tb testing.TB) (url string) {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = bouncer
		proctest.Need(tb, "pgbouncer", program)
	}
	port := proctest.FreePorts(tb, 1)[0]
	config := fmt.Sprintf(`[databases]
postgres = host=127.0.0.1 port=%s dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = extra_float_digits
`, s.Port, port)
	file := filepath.Join(filepath.Dir(s.Dir), "pgbouncer.ini")
	//nolint:gosec // another user reads it
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		tb.Fatal(err)
	}
	addr := proctest.Addr(port)
	proctest.NewServer(func() *exec.Cmd { return s.Command(tb, program, file) },
		func() bool { return proctest.Listens(addr) }).Restart(tb)
	return "postgres://postgres@" + addr + "/postgres"
}

//go:build unix

package mysqltest

import (
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Follow starts a server that has ended as the replica of another one, with a copy of what that
// has. What it had is lost.
func (s *Server) Follow(tb testing.TB, primary *Server) {
	tb.Helper()
	if err := os.RemoveAll(s.Dir); err != nil {
		tb.Fatal(err)
	}
	primary.Freeze(tb)
	proctest.Copy(tb, primary.Dir, s.Dir)
	primary.Thaw(tb)
	s.Restart(tb)
	s.follow(tb, primary, "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos")
}

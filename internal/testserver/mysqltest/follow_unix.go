//go:build unix

package mysqltest

import (
	"os"
	"os/exec"
	"testing"
)

// Follow starts a server that has ended as the replica of another one, with a copy of what that
// has. What it had is lost.
func (s *Server) Follow(tb testing.TB, primary *Server) {
	tb.Helper()
	if err := os.RemoveAll(s.Dir); err != nil {
		tb.Fatal(err)
	}
	primary.Freeze(tb)
	out, err := exec.Command("cp", "-a", primary.Dir, s.Dir).CombinedOutput()
	primary.Thaw(tb)
	if err != nil {
		tb.Fatalf("%s cannot be copied: %v\n%s", primary.Dir, err, out)
	}
	s.Restart(tb)
	s.follow(tb, primary, "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos")
}

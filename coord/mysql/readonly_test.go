package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestReadOnly: a server that an operator has made read-only is written to by nobody, also not by a
// user whom it would let, or whose session was there before.
func TestReadOnly(t *testing.T) {
	d := database(t, mysqltest.Start(t), "")
	for _, variable := range []string{"read_only", "tx_read_only"} {
		d.Frozen([]string{"SET GLOBAL " + variable + " = 1"}, []string{"SET GLOBAL " + variable + " = 0"})
	}
}

// TestCoordinator_SwitchOverRepeatsNoID counts the IDs of two generators in a planned switch-over.
func TestCoordinator_SwitchOverRepeatsNoID(t *testing.T) {
	fulltest.Long(t, "what the left server may have granted is over after two minutes")
	t.Parallel()
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	s := mysqltest.Start(t, append(args, "--server-id=1")...)
	d := database(t, s, "")
	replica := s.Replica(t, append(args, "--server-id=2", "--read-only=1")...)
	there := database(t, replica, "")
	sqltest.SwitchOver(sqltest.Replicated{
		Database: d, Addr: s.Addr(),
		Freeze: func() { d.Exec("SET GLOBAL read_only = 1") },
		Promote: func() string {
			there.Int("SELECT MASTER_GTID_WAIT('%s')", d.Text("SELECT @@gtid_binlog_pos"))
			there.Do("STOP SLAVE", "SET GLOBAL read_only = 0")
			return replica.Addr()
		},
		URL: func(addr string) string {
			return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + addr + "/" +
				mysqltest.Database + "?namespace=ns"
		},
	})
}

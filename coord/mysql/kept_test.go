package mysql

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestRisks: a server that may lose what it has confirmed, or confirms what excludes each
// other, is refused.
func TestRisks(t *testing.T) {
	for risk, tc := range map[string]struct {
		args []string
		says string
	}{
		"innodb_flush_log_at_trx_commit": {[]string{"--innodb-flush-log-at-trx-commit=2"}, "set it to 1"},
		"sync_binlog":                    {[]string{"--log-bin", "--sync-binlog=0"}, "set it to 1"},
		"semi_sync": {[]string{
			"--log-bin", "--sync-binlog=1", "--rpl-semi-sync-master-enabled=ON",
			"--rpl-semi-sync-master-wait-point=AFTER_COMMIT",
		}, "AFTER_SYNC"},
	} {
		t.Run(risk, func(t *testing.T) {
			sqltest.Risk(database(t, mysqltest.Start(t, tc.args...), ""), risk, tc.says)
		})
	}
}

// TestFellBack: semi-synchronous replication that has nobody to wait for is asynchronous.
func TestFellBack(t *testing.T) {
	s := mysqltest.Start(t, "--log-bin", "--sync-binlog=1",
		"--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=1",
		"--rpl-semi-sync-master-wait-no-slave=ON")
	d := database(t, s, "")
	c := d.New("ns")
	drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec("SET GLOBAL rpl_semi_sync_master_enabled = 1")
	d.Exec("CREATE TABLE replicated (n int)") // it waits in vain
	sqltest.Risk(d, "semi_sync", "look whether a replica is connected")
}

// TestSettings: neither a time zone, nor a character set, nor a sql_mode changes what is stored.
func TestSettings(t *testing.T) {
	s := mysqltest.Start(t)
	for _, params := range mysqltest.Settings {
		t.Run(params, func(t *testing.T) {
			sqltest.Stored(database(t, s, params))
		})
	}
}

// TestRights: a user who may not make tables is told what to have somebody run.
func TestRights(t *testing.T) {
	s := mysqltest.Start(t)
	d := database(t, s, "")
	d.Exec("CREATE USER ann IDENTIFIED BY 'pw'")
	d.Exec("GRANT SELECT ON unalike.* TO ann")
	sqltest.Rights(d, as(t, "ann:pw", s, d), func(script string) error {
		_, err := newPool(t, s.DSN(several), 1).ExecContext(t.Context(), script)
		return err
	}, "GRANT INSERT, UPDATE ON unalike.* TO ann")
}

// TestOneConnection: a pool of one connection serves many.
func TestOneConnection(t *testing.T) {
	s := mysqltest.Start(t)
	d := database(t, s, "")
	d.DB = mysqldb.Of(newPool(t, s.DSN(several), 1), s.Addr())
	sqltest.OneConnection(d)
}

// TestNumber: how many transactions a server has seen, of either kind.
func TestNumber(t *testing.T) {
	for s, want := range map[string]int64{
		"": 0, "0-1-17": 17, "0-1-17,1-2-3": 20,
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-17:19":                                       18,
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-3:15:tag_a:1-9:b:2":                          14,
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:5,\n 4e11fa47-71ca-11e1-9e33-c80aa9429562:1-2": 3,
	} {
		if n, err := (&mysqldb.DB{}).Number(s); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"x", "0-1-x", "uuid:1-x", "uuid:", "uuid:1-17:5-3", "uuid:0-4"} {
		if n, err := (&mysqldb.DB{}).Number(s); err == nil {
			t.Errorf("%q: %d", s, n)
		}
	}
}

// TestSeries: each number once.
func TestSeries(t *testing.T) {
	d := database(t, mysqltest.Start(t), "")
	for _, n := range []int{1, 9, 10, 11, 1024, 65536} {
		if got := d.Int("SELECT COUNT(DISTINCT worker) + 10000000 * (MAX(worker) + 1 - "+
			"COUNT(*)) FROM %s", series(n)); got != int64(n) {
			t.Errorf("of %d numbers, there are %d", n, got)
		}
	}
}

// TestRolledBack: a server whose files are put back has fewer transactions in its binary log.
func TestRolledBack(t *testing.T) {
	s := mysqltest.Start(t, "--log-bin", "--sync-binlog=1")
	sqltest.RolledBack(database(t, s, ""), s, s.Dir)
}

// TestPromoted: a replica that is promoted lacks what was confirmed last. Before that, it
// refuses writes.
func TestPromoted(t *testing.T) {
	s := mysqltest.Start(t, "--log-bin", "--sync-binlog=1", "--server-id=1")
	d := database(t, s, "")
	d.Exec("CREATE USER ann IDENTIFIED BY 'pw'")
	// who heeds read_only
	d.Exec("GRANT SELECT, INSERT, UPDATE, CREATE, CREATE VIEW ON unalike.* TO ann")
	c := d.New("others")
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	replica := s.Replica(t, "--log-bin", "--sync-binlog=1", "--server-id=2", "--log-slave-updates",
		"--read-only=1")
	there := as(t, "ann:pw", replica, database(t, replica, ""))
	sqltest.Promoted(d, sqltest.Standby{
		Database: &there,
		Cut:      func() { there.Exec("STOP SLAVE") },
		Promote: func() {
			s.Kill()
			there.Exec("RESET SLAVE ALL")
			there.Exec("SET GLOBAL read_only = 0")
		},
	})
}

// TestPasswordFile: a password that changes needs no restart.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	d := database(t, s, "")
	d.Exec("CREATE USER ann")
	d.Exec("GRANT ALL ON unalike.* TO ann")
	url := "mysql://ann@" + s.Addr() + "/unalike?namespace=ns&"
	drivertest.ChangedPassword(t, url, func(password string) {
		d.Exec("ALTER USER ann IDENTIFIED BY '%s'", strings.ReplaceAll(password, "'", "''"))
		d.Exec("KILL USER ann")
	})
}

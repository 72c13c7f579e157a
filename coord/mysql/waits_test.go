package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestLockWait: a call that was given up while it waits for a lock does not keep a connection of
// the server for long.
func TestLockWait(t *testing.T) {
	s := mysqltest.Start(t)
	u, err := driver.ParseURL("mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + s.Addr() +
		"/" + mysqltest.Database + "?namespace=ns")
	if err != nil {
		t.Fatal(err)
	}
	target, err := sqlstore.Parse(mysqldb.Scheme, u)
	if err != nil {
		t.Fatal(err)
	}
	db, err := mysqldb.Open(target.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Transact(drivertest.Within(t), false,
		[]sqlstore.Statement{{SQL: "SELECT @@innodb_lock_wait_timeout"}})
	if err != nil || rows[0][0] != mysqldb.LockWait {
		t.Errorf("a statement waits for a lock for %v s, %v; want %s", rows, err, mysqldb.LockWait)
	}
}

// TestStatements: a binary log of statements says something else on a replica.
func TestStatements(t *testing.T) {
	d := database(t, mysqltest.Start(t, "--log-bin", "--sync-binlog=1", "--binlog-format=STATEMENT"),
		"")
	_, err := d.New("ns").Acquire(drivertest.Within(t), drivertest.Request(1))
	drivertest.WantInvalid(t, "Acquire", err, "BINLOG_FORMAT")
}

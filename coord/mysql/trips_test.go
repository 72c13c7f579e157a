package mysql

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// wired connects to a server over a wire, with so many connections.
func wired(t *testing.T, s *mysqltest.Server, w *sqltest.Wire, conns int) *sqltest.Database {
	t.Helper()
	config, err := mysql.ParseDSN(s.DSN("?multiStatements=true"))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc, config.Logger = w.Dial, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := drivertest.Closing(t, sql.OpenDB(connector), nil)
	pool.SetMaxOpenConns(conns)
	d := database(t, s, "")
	d.DB = &mysqldb.DB{Pool: pool}
	return d
}

// TestOneRoundTrip: a transaction is one round trip on the wire.
func TestOneRoundTrip(t *testing.T) {
	w := new(sqltest.Wire)
	sqltest.OneRoundTrip(t, wired(t, mysqltest.Start(t), w, 1), w)
}

// TestHalf: a client whose last packet is lost leaves nothing locked.
func TestHalf(t *testing.T) {
	s, w := mysqltest.Start(t), new(sqltest.Wire)
	sqltest.Half(t, wired(t, s, w, 16), w, database(t, s, ""))
}

// TestSentOnce: a change whose connection breaks is not sent again.
func TestSentOnce(t *testing.T) {
	w := new(sqltest.Wire)
	sqltest.SentOnce(t, wired(t, mysqltest.Start(t), w, 16), w)
}

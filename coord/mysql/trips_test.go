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

// TestOneRoundTrip: a transaction is one round trip on the wire.
func TestOneRoundTrip(t *testing.T) {
	s := mysqltest.Start(t)
	d, f := database(t, s, ""), &sqltest.Flights{}
	config, err := mysql.ParseDSN(s.DSN("?multiStatements=true"))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = f.Dial
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := drivertest.Closing(t, sql.OpenDB(connector), nil)
	pool.SetMaxOpenConns(1)
	d.DB = &mysqldb.DB{Pool: pool}
	sqltest.OneRoundTrip(t, d, f)
}

// TestHalf: a client whose last packet is lost leaves nothing locked.
func TestHalf(t *testing.T) {
	s := mysqltest.Start(t)
	d, broken := database(t, s, ""), &sqltest.Severed{}
	config, err := mysql.ParseDSN(s.DSN("?multiStatements=true"))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = broken.Dial
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	d.DB = &mysqldb.DB{Pool: drivertest.Closing(t, sql.OpenDB(connector), nil)}
	sqltest.Half(t, d, broken, database(t, s, ""))
}

// TestSentOnce: a change whose connection breaks is not sent again.
func TestSentOnce(t *testing.T) {
	s := mysqltest.Start(t)
	d, broken := database(t, s, ""), &sqltest.Broken{}
	config, err := mysql.ParseDSN(s.DSN("?multiStatements=true"))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc, config.Logger = broken.Dial, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	d.DB = &mysqldb.DB{Pool: drivertest.Closing(t, sql.OpenDB(connector), nil)}
	sqltest.SentOnce(t, d, broken)
}

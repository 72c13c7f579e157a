package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

func TestBadURL(t *testing.T) {
	sqltest.BadURLs(t, "mysql")
	drivertest.BadURLs(t, map[string]string{
		"mysql://u:secret@h,i/db?namespace=ns": "there are 2 hosts; give the one that is written to, " +
			"or a name that leads there",
		"mysql://u:secret@h/db?namespace=ns&accept=x": `Accept has "x"; known are ` +
			"innodb_flush_log_at_trx_commit, sync_binlog, semi_sync, binlog_format, single_writer",
	})
}

func TestOpen(t *testing.T) {
	s := mysqltest.Start(t)
	d := database(t, s, "")
	d.Exec("CREATE USER ann IDENTIFIED BY 's@/?3cret'")
	d.Exec("GRANT ALL ON unalike.* TO ann")
	sqltest.Opened(t, "mysql://ann:s%40%2F%3F3cret@"+s.Addr()+"/unalike?")
	sqltest.Opened(t, "mysql://ann:s%40%2F%3F3cret@/unalike?socket="+s.Socket)
}

// TestRefused: a wrong password, and a database that is not there, with the password said nowhere.
func TestRefused(t *testing.T) {
	s := mysqltest.Start(t)
	sqltest.WrongPassword(t, "mysql://nobody:s3cret@"+s.Addr()+"/unalike?namespace=ns", "nobody")
	database(t, s, "").Exec("CREATE USER ann IDENTIFIED BY 's3cret'")
	sqltest.WrongPassword(t, "mysql://ann:s3cret@"+s.Addr()+"/unalike?namespace=ns", "ann")
}

func TestTLS(t *testing.T) {
	ca := certtest.New(t)
	pair := ca.Issue(t)
	s := mysqltest.Start(t, "--ssl-cert="+pair.Cert, "--ssl-key="+pair.Key)
	sqltest.TLS(t, ca, "mysqls://"+mysqltest.User+":"+mysqltest.Password+"@"+s.Addr()+"/unalike", "")
}

// TestBadOptions: errors name what is wrong, as does that of a pool that cannot make several
// statements in one call.
func TestBadOptions(t *testing.T) {
	one := newPool(t, mysqltest.Start(t).DSN(""), 1)
	_, err := New(one, "a b", Options{})
	drivertest.WantInvalid(t, "New", err, "namespace")
	_, err = New(one, "ns", Options{Prefix: "A"})
	drivertest.WantInvalid(t, "New", err, "Prefix")
	_, err = New(nil, "ns", Options{})
	drivertest.WantInvalid(t, "New", err, "nil")
	c, err := New(one, "ns", Options{})
	_, err = drivertest.Closing(t, c, err).Acquire(drivertest.Within(t), drivertest.Request(1))
	drivertest.WantInvalid(t, "Acquire", err, "the pool was made without MultiStatements")
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	drivertest.Place(t, "mysql://ann:secret@h/db?namespace=orders",
		"mysql://ann:secret@h/db?namespace=payments", "mysql://ann:secret@h/other?namespace=orders",
		"mysql://ann:secret@i/db?namespace=orders",
		"mysql://ann:secret@h/db?namespace=orders&prefix=own_",
		"mysql://ann:secret@/db?namespace=orders&socket=/run/s")
}

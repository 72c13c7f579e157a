package mysql_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/drivertest/localtest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

func TestBadURL(t *testing.T) {
	sqltest.BadURLs(t, "mysql")
	drivertest.BadURLs(t, map[string]string{"mysql://u:secret@h,i/db?namespace=ns": "there are 2 hosts; give the one that is written to, or a name that leads there"})
}

func TestOpen(t *testing.T) {
	s := mysqltest.Start(t)
	pool := newPool(t, s.DSN(""))
	exec(t, pool, "CREATE USER ann IDENTIFIED BY 's@/?3cret'")
	exec(t, pool, "GRANT ALL ON unalike.* TO ann")
	sqltest.Opened(t, "mysql://ann:s%40%2F%3F3cret@"+s.Addr()+"/unalike?")
	sqltest.Opened(t, "mysql://ann:s%40%2F%3F3cret@/unalike?socket="+s.Socket)
}

// TestRefused: a wrong password, and a database that is not there, with the password said nowhere.
func TestRefused(t *testing.T) {
	s := mysqltest.Start(t)
	sqltest.WrongPassword(t, "mysql://nobody:s3cret@"+s.Addr()+"/unalike?namespace=ns", "nobody")
	exec(t, newPool(t, s.DSN("")), "CREATE USER ann IDENTIFIED BY 's3cret'")
	sqltest.WrongPassword(t, "mysql://ann:s3cret@"+s.Addr()+"/unalike?namespace=ns", "ann")
}

func TestTLS(t *testing.T) {
	ca := certtest.New(t)
	pair := ca.Issue(t)
	s := mysqltest.Start(t, "--ssl-cert="+pair.Cert, "--ssl-key="+pair.Key)
	sqltest.TLS(t, ca, "mysqls://"+mysqltest.User+":"+mysqltest.Password+"@"+s.Addr()+"/unalike", "")
}

// TestBadOptions: errors name what is wrong.
func TestBadOptions(t *testing.T) {
	good := newPool(t, "u@tcp(127.0.0.1:1)/db")
	for says, tc := range map[string]struct {
		pool      *sql.DB
		namespace string
		options   mysql.Options
	}{
		"nil":       {nil, "ns", mysql.Options{}},
		"namespace": {good, "a b", mysql.Options{}},
		"Prefix":    {good, "ns", mysql.Options{Prefix: "A"}},
		"known are": {good, "ns", mysql.Options{Accept: []string{"x"}}},
		"SkewBound": {good, "ns", mysql.Options{SkewBound: -1}},
	} {
		c, err := mysql.New(tc.pool, tc.namespace, tc.options)
		if c != nil || !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestOneStatement: a pool that cannot make several statements in one call is refused.
func TestOneStatement(t *testing.T) {
	c := newCoordinator(t, newPool(t, mysqltest.Start(t).DSN("")), "ns", nil)
	_, err := c.Acquire(within(t), request(1))
	drivertest.WantInvalid(t, "Acquire", err, "the pool was made without MultiStatements")
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	localtest.Place(t, "mysql://ann:secret@h/db?namespace=orders", "mysql://ann:secret@h/db?namespace=payments", "mysql://ann:secret@h/other?namespace=orders",
		"mysql://ann:secret@i/db?namespace=orders", "mysql://ann:secret@h/db?namespace=orders&prefix=own_", "mysql://ann:secret@/db?namespace=orders&socket=/run/s")
}

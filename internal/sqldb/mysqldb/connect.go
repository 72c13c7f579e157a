// Package mysqldb connects to MySQL and MariaDB.
package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// Scheme is that of the URLs.
var Scheme = sqldb.Scheme{
	Name: "mysql", Alias: "mariadb", Port: "3306", Product: wrongserver.MySQL,
}

func init() { Scheme.SetPort() }

// LockWait is how many seconds the server lets a statement wait for a row that is locked.
const LockWait = "5"

// configOf returns how to connect.
func configOf(s sqldb.Server) (*mysql.Config, error) {
	config := mysql.NewConfig()
	config.DBName = s.Database
	config.Net, config.Timeout = "tcp", sqldb.DialTime
	if s.Socket != "" {
		config.Net, config.Addr = "unix", s.Socket
	} else {
		config.Addr = s.Addrs[0]
	}
	// The server does not notice that a client has gone which waits for a lock. Others wait for a
	// connection meanwhile: of each call that was given up, one would be taken.
	config.Params = map[string]string{"innodb_lock_wait_timeout": LockWait} //mutant:mysql-lock-wait
	config.MultiStatements = true
	config.Logger = &mysql.NopLogger{} // it says what it returns as well
	return config, config.Apply(
		mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) error { return current(s, c) }))
}

// current sets what may have changed since the last connection: user, password and certificates.
func current(s sqldb.Server, c *mysql.Config) (err error) {
	if c.User, c.Passwd, err = s.Login(); err != nil || s.TLS == nil {
		return err
	}
	if c.TLS, err = s.TLS.Client(); err != nil {
		return err
	}
	c.TLS.ServerName, _, err = net.SplitHostPort(c.Addr)
	return err
}

// Open makes a pool for a server. It contacts nobody.
func Open(s sqldb.Server) (*DB, error) {
	config, err := configOf(s)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	pools, err := lifetime.Rotate(func() (pool, error) {
		p := sql.OpenDB(asking{connector, s.TLS != nil})
		p.SetMaxOpenConns(sqldb.Conns)
		p.SetMaxIdleConns(sqldb.Conns)
		return pool{p}, nil
	})
	product := "MySQL"
	if strings.HasPrefix(s.Scheme, Scheme.Alias) {
		product = "MariaDB"
	}
	at := product + " at " + config.Addr
	return &DB{pools, at, []string{config.Net, at, s.Database}}, err
}

// asking is a connector that bounds how long connecting takes, which the driver does for
// dialling alone, and whose errors ask whether something else listens there: the server has not
// said what is wrong, and somebody has accepted the connection.
type asking struct {
	driver.Connector
	secure bool
}

// Connect implements [driver.Connector].
func (a asking) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, sqldb.DialTime)
	defer cancel()
	c, err := a.Connector.Connect(ctx)
	if errors.Is(err, mysql.ErrNoTLS) {
		return nil, &sqldb.Fault{
			Class: sqldb.Refused, Says: "write the URL without the s for TLS", Err: err,
		}
	}
	_, told := errors.AsType[*mysql.MySQLError](err)
	_, unread := errors.AsType[*fs.PathError](err) // the file with the password
	if dial, failed := errors.AsType[*net.OpError](err); err == nil || told || unread || failed &&
		dial.Op == "dial" {
		return c, err
	}
	return nil, fmt.Errorf("%w; %s", err, drivers.Question("a MySQL", a.secure))
}

// Table is the rows of an answer, as text; NULL is empty. Columns is how many it has.
func Table(rows *sql.Rows) (all [][]string, columns int, err error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, 0, err
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, 0, err
		}
		row := make([]string, len(names))
		for i, v := range values {
			row[i] = v.String
		}
		all = append(all, row)
	}
	return all, len(names), rows.Err()
}

// Class says what an error means.
func (*DB) Class(err error) sqldb.Class {
	if f, ok := errors.AsType[*sqldb.Fault](err); ok {
		return f.Class
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return sqldb.Unknown
	}
	switch e.Number {
	case 1205, 1213, 1020:
		return sqldb.Race
	case 1050, 1062:
		return sqldb.Duplicate
	case 1146:
		return sqldb.NoTables
	case 1054, 1267, 1271, 3854:
		return sqldb.Misfit
	case 1142, 1143, 1227:
		return sqldb.Denied
	case 1290, 1792, 1836, 3100: // the last: it has left a group that replicates
		return sqldb.ReadOnly
	case 1044, 1045, 1049, 1665: // the last: the binary log has statements, which differ on a replica
		return sqldb.Refused
	}
	return sqldb.Unknown
}

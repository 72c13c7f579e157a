package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// lockWait is how many seconds the server lets a statement wait for a row that is locked.
const lockWait = "5"

// scheme is that of this driver's URLs.
var scheme = sqlstore.Scheme{Name: "mysql", Port: "3306"}

func init() {
	coord.Register(scheme.Name, open)
	coord.Register(scheme.Secure(), open)
}

// open makes a coordinator, and a pool of its own, from a URL. It contacts nobody.
func open(_ context.Context, u *coord.URL) (coord.Coordinator, error) {
	t, err := scheme.Parse(u)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = t.User, t.Password, t.Database
	config.Net, config.TLS, config.Timeout = "tcp", t.TLS, sqlstore.DialTime
	if config.MultiStatements = true; t.Socket != "" {
		config.Net, config.Addr = "unix", t.Socket
	} else {
		config.Addr = t.Addrs[0]
	}
	// The server does not notice that a client has gone which waits for a lock. Others wait for a
	// connection meanwhile: of each call that was given up, one would be taken.
	config.Params = map[string]string{"innodb_lock_wait_timeout": lockWait}
	config.Logger = &mysql.NopLogger{} // it says what it returns as well
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("%w %s URL: %w", coord.ErrInvalid, u.Scheme, err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(sqlstore.Conns)
	pool.SetMaxIdleConns(sqlstore.Conns)
	opts := Options(t.Options)
	c, err := newAt(pool, config.Addr, t.Namespace, &opts)
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	c.owned = pool
	return c, nil
}

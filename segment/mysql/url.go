package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/segment"
)

// scheme is that of this driver's URLs.
var scheme = sqlsegment.Scheme{Name: "mysql", Port: "3306"}

func init() {
	segment.Register(scheme.Name, open)
	segment.Register(scheme.Secure(), open)
}

// open makes a store, and a pool of its own, from a URL. A server that cannot be reached is no error yet.
func open(ctx context.Context, u *coord.URL) (segment.Store, error) {
	t, err := scheme.Parse(u)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = t.User, t.Password, t.Database
	config.Net, config.TLS, config.Timeout = "tcp", t.TLS, sqlsegment.DialTime
	if t.Socket != "" {
		config.Net, config.Addr = "unix", t.Socket
	} else {
		config.Addr = t.Addrs[0]
	}
	config.Logger = &mysql.NopLogger{} // it says what it returns as well
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %s URL: %w", segment.ErrInvalidConfig, u.Scheme, err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(sqlsegment.Conns)
	pool.SetMaxIdleConns(sqlsegment.Conns)
	s, err := newStore(&db{pool: pool, at: config.Addr, owned: true}, t.Options)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := s.Look(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

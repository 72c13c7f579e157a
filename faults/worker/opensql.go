package worker

import (
	"context"
	"database/sql"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/kubernetes"
	mycoord "github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/coord/postgres"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// pools are what the generators of a program share, by where the servers are: connections to databases, and coordinators. The zero value has none.
type pools struct {
	mu       sync.Mutex
	postgres map[string]*pgxpool.Pool
	mysql    map[string]*sql.DB
	// Of a Kubernetes cluster a program has one coordinator for a namespace, which lists it for all generators at once.
	kubernetes map[string]*kubernetes.Coordinator
}

// get returns the pool of a URL, which is made if there is none yet.
func get[P any](p *pools, all *map[string]P, u *driver.URL, connect func() (P, error)) (P, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := u.User.String() + "@" + strings.Join(u.Hosts, ",") + u.Path
	if pool, ok := (*all)[at]; ok {
		return pool, nil
	}
	pool, err := connect()
	if err != nil {
		return pool, err
	}
	if *all == nil {
		*all = map[string]P{}
	}
	(*all)[at] = pool
	return pool, nil
}

// openPostgres opens a URL of PostgreSQL.
func (p *pools) openPostgres(ctx context.Context, u *driver.URL, o postgres.Options, c clock.Clock) (coord.Coordinator, error) {
	pool, err := get(p, &p.postgres, u, func() (*pgxpool.Pool, error) {
		config, err := pgxpool.ParseConfig("postgres://" + u.User.String() + "@" + strings.Join(u.Hosts, ",") + u.Path + "?target_session_attrs=read-write")
		if err != nil {
			return nil, err
		}
		config.MaxConns, config.ConnConfig.ConnectTimeout = sqldb.Conns, sqldb.DialTime
		postgres.Prepare(config)
		return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	})
	if err != nil {
		return nil, err
	}
	o.Accept, o.Clock = accepted(u), c
	return given(postgres.New(pool, u.Option("namespace"), o))
}

// openMySQL opens a URL of MySQL.
func (p *pools) openMySQL(u *driver.URL, o mycoord.Options, c clock.Clock) (coord.Coordinator, error) {
	pool, err := get(p, &p.mysql, u, func() (*sql.DB, error) {
		config := mysql.NewConfig()
		config.User, config.Net, config.Addr, config.DBName = u.User.Username(), "tcp", u.Hosts[0], strings.TrimPrefix(u.Path, "/")
		config.Passwd, _ = u.User.Password()
		config.Timeout, config.MultiStatements, config.Logger = sqldb.DialTime, true, &mysql.NopLogger{}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		pool := sql.OpenDB(connector)
		pool.SetMaxOpenConns(sqldb.Conns)
		pool.SetMaxIdleConns(sqldb.Conns)
		return pool, nil
	})
	if err != nil {
		return nil, err
	}
	o.Accept, o.Clock = accepted(u), c
	return given(mycoord.New(pool, u.Option("namespace"), o))
}

// accepted are the risks that a URL accepts.
func accepted(u *driver.URL) []string {
	if names := u.Option("accept"); names != "" {
		return strings.Split(names, ",")
	}
	return nil
}

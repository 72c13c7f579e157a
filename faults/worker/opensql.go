package worker

import (
	"context"
	"database/sql"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	mycoord "github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/coord/postgres"
)

// conns is how many connections a pool has at most.
const conns = 8

// openPostgres opens a URL of PostgreSQL with a clock.
func openPostgres(ctx context.Context, u *coord.URL, o postgres.Options, c clock.Clock) (coord.Coordinator, error) {
	config, err := pgxpool.ParseConfig("postgres://" + u.User.String() + "@" + strings.Join(u.Hosts, ",") + u.Path + "?target_session_attrs=read-write")
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	postgres.Prepare(config)
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, err
	}
	o.Accept, o.Clock = accepted(u), c
	return given(postgres.New(pool, u.Option("namespace"), &o))
}

// openMySQL opens a URL of MySQL with a clock.
func openMySQL(u *coord.URL, o mycoord.Options, c clock.Clock) (coord.Coordinator, error) {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = u.User.Username(), "tcp", u.Hosts[0], strings.TrimPrefix(u.Path, "/")
	config.Passwd, _ = u.User.Password()
	config.MultiStatements, config.Logger = true, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	o.Accept, o.Clock = accepted(u), c
	return given(mycoord.New(pool, u.Option("namespace"), &o))
}

// accepted are the risks that a URL accepts.
func accepted(u *coord.URL) []string {
	if names := u.Option("accept"); names != "" {
		return strings.Split(names, ",")
	}
	return nil
}

// Package pgdb connects to PostgreSQL.
package pgdb

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqldb"
)

// Scheme is that of the URLs.
var Scheme = sqldb.Scheme{Name: "postgres", Alias: "postgresql", Port: "5432", Several: true}

func init() { Scheme.SetPort() }

// Config returns how to connect: to the first server that can be written to. The password is
// not in the text that is parsed, which errors quote.
func Config(s sqldb.Server) (*pgxpool.Config, error) {
	var hosts, ports []string
	for _, addr := range s.Addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if s.Socket != "" {
		hosts, ports = []string{s.Socket}, []string{Scheme.Port}
	}
	config, err := pgxpool.ParseConfig(
		fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable target_session_attrs=read-write",
			quoted(strings.Join(hosts, ",")), quoted(strings.Join(ports, ",")), quoted(s.User),
			quoted(s.Database)))
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	c.ConnectTimeout = sqldb.DialTime
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) (err error) {
		c.Password, err = s.Password()
		return err
	}
	c.RuntimeParams["application_name"] = "unalike"
	if s.TLS != nil {
		c.TLSConfig = s.TLS.Clone()
		c.TLSConfig.ServerName = c.Host
		for _, f := range c.Fallbacks {
			f.TLSConfig = s.TLS.Clone()
			f.TLSConfig.ServerName = f.Host
		}
	}
	config.MaxConns = sqldb.Conns
	Prepare(config)
	config.MaxConnLifetime = 0 // a Rotation replaces the pool
	return config, nil
}

// quoted is a value in the text of a configuration.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

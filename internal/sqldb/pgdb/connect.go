// Package pgdb connects to PostgreSQL.
package pgdb

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// Scheme is that of the URLs.
var Scheme = sqldb.Scheme{
	Name: "postgres", Alias: "postgresql", Port: "5432", Several: true,
	Product: wrongserver.PostgreSQL,
}

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
	c.User = s.User // not that of this process
	c.ConnectTimeout = sqldb.DialTime
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { return current(s, c) }
	c.RuntimeParams["application_name"] = "unalike"
	if s.TLS != nil {
		c.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} // until a connection has its own
	}
	config.MaxConns = sqldb.Conns
	Prepare(config)
	config.MaxConnLifetime = 0 // a Rotation replaces the pool
	return config, nil
}

// current sets what may have changed since the last connection: user, password and certificates.
func current(s sqldb.Server, c *pgx.ConnConfig) (err error) {
	if c.User, c.Password, err = s.Login(); err != nil || s.TLS == nil {
		return err
	}
	if c.TLSConfig, err = s.TLS.Client(); err != nil {
		return err
	}
	c.TLSConfig.ServerName = c.Host
	for _, f := range c.Fallbacks {
		f.TLSConfig = c.TLSConfig.Clone()
		f.TLSConfig.ServerName = f.Host
	}
	return nil
}

// quoted is a value in the text of a configuration.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

package postgres

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// scheme is that of this driver's URLs.
var scheme = sqlstore.Scheme{Name: "postgres", Port: "5432", Several: true}

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
	config, err := poolConfig(t)
	if err != nil {
		return nil, fmt.Errorf("%w %s URL: %w", coord.ErrInvalid, u.Scheme, err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	opts := Options(t.Options)
	c, err := New(pool, t.Namespace, &opts)
	if err != nil {
		pool.Close()
		return nil, err
	}
	c.owned = pool
	return c, nil
}

// poolConfig returns how to connect: to the first server that can be written to. The
// password is not in the text that is parsed, which errors quote.
func poolConfig(t sqlstore.Target) (*pgxpool.Config, error) {
	var hosts, ports []string
	for _, addr := range t.Addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if t.Socket != "" {
		hosts, ports = []string{t.Socket}, []string{scheme.Port}
	}
	config, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable target_session_attrs=read-write",
		quoted(strings.Join(hosts, ",")), quoted(strings.Join(ports, ",")), quoted(t.User), quoted(t.Database)))
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	c.Password, c.ConnectTimeout = t.Password, sqlstore.DialTime
	c.RuntimeParams["application_name"] = "unalike"
	if t.TLS != nil {
		c.TLSConfig = t.TLS.Clone()
		c.TLSConfig.ServerName = c.Host
		for _, f := range c.Fallbacks {
			f.TLSConfig = t.TLS.Clone()
			f.TLSConfig.ServerName = f.Host
		}
	}
	config.MaxConns = sqlstore.Conns
	Prepare(config)
	return config, nil
}

// quoted is a value in the text of a configuration.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/segment"
)

// scheme is that of this driver's URLs.
var scheme = sqlsegment.Scheme{Name: "postgres", Port: "5432", Several: true}

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
	config, err := poolConfig(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %s URL: %w", segment.ErrInvalidConfig, u.Scheme, err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	s, err := newStore(&db{pool: pool, owned: true}, t.Options)
	if err != nil {
		pool.Close()
		return nil, err
	}
	if err := s.Look(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// poolConfig returns how to connect: to the first server that can be written to. The password is not in the text that
// is parsed, which errors quote.
func poolConfig(t sqlsegment.Target) (*pgxpool.Config, error) {
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
	c.Password, c.ConnectTimeout = t.Password, sqlsegment.DialTime
	c.RuntimeParams["application_name"] = "unalike"
	if t.TLS != nil {
		c.TLSConfig = t.TLS.Clone()
		c.TLSConfig.ServerName = c.Host
		for _, f := range c.Fallbacks {
			f.TLSConfig = t.TLS.Clone()
			f.TLSConfig.ServerName = f.Host
		}
	}
	config.MaxConns = sqlsegment.Conns
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { // a ping would cost a round trip
		return p.IdleDuration > time.Second && p.Conn.PgConn().CheckConn() != nil //nolint:staticcheck // a range whose answer is lost stays unused
	}
	return config, nil
}

// quoted is a value in the text of a configuration.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

package redis

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// dialer connects for a client. Closing a client that asks Sentinels where the master is waits
// until none is asked any more: as long as connecting may take where one does not answer. So the
// connections to Sentinels end with life.
type dialer struct {
	tls       *tlsfiles.Files // nil: none
	life      context.Context
	sentinels []string // their addresses; nil: there are none
}

// dial makes a connection to a Redis or to a Sentinel.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	conn, err := d.tls.Dial(ctx, network, addr)
	if err != nil || !slices.Contains(d.sentinels, addr) {
		return conn, err
	}
	return &asked{conn, context.AfterFunc(d.life, func() { _ = conn.Close() })}, nil
}

// asked is a connection to a Sentinel.
type asked struct {
	net.Conn
	forget func() bool
}

// Close implements [net.Conn].
func (a *asked) Close() error {
	if !a.forget() {
		return nil // it was closed
	}
	return a.Conn.Close()
}

// loginToSentinel logs in on a new connection if that leads to a Sentinel. The client calls it for
// every connection. It asks for the credentials of each connection to a Redis, and keeps those of
// the Sentinels for as long as it lives.
func (t target) loginToSentinel(ctx context.Context, c *goredis.Conn) error {
	if strings.Contains(c.String(), viaSentinel) { // a Redis, where the client has logged in
		return nil
	}
	user, password, err := t.sentinel()
	if err != nil || password == "" {
		return err
	}
	if user == "" {
		err = c.Auth(ctx, password).Err()
	} else {
		err = c.AuthACL(ctx, user, password).Err()
	}
	if err != nil {
		return fmt.Errorf("log in to the Sentinel: %w", err)
	}
	return nil
}

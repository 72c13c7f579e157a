package pgdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// warning is the key of what a connection keeps of a warning.
const warning = "unalike: warning"

// probe is a notice that asks whether a pool was prepared.
const probe = "unalike: was this pool prepared?"

// Prepare sets what every pool needs: warnings are heard with which the server confirms a commit
// that its standby may not have, text is UTF-8 whatever the database's encoding is, an idle
// connection is looked at rather than pinged, which would cost a round trip, and no connection
// becomes older than [lifetime.MaxAge].
func Prepare(c *pgxpool.Config) {
	if !bounded(c) {
		c.MaxConnLifetime = lifetime.MaxAge / 2
		c.MaxConnLifetimeJitter = lifetime.MaxAge / 2
	}
	//mutant:pg-encoding
	c.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" // otherwise it is that of the database
	if c.ShouldPing == nil {
		c.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
			return p.IdleDuration > time.Second && ended(p.Conn.PgConn())
		}
	}
	next := c.ConnConfig.OnNotice
	c.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		switch {
		case conn == nil && n.Message == probe:
			n.Detail = "it was"
			return
		//mutant:pg-vacuum
		case n.SeverityUnlocalized == "WARNING" && n.File != "varsup.c" && n.File != "multixact.c":
			// which want a VACUUM
			conn.CustomData()[warning] = n.Message
		}
		if next != nil {
			next(conn, n)
		}
	}
}

// ended reports whether the server has ended an idle connection. A network that loses the end is
// found out by the request that follows.
func ended(c *pgconn.PgConn) bool {
	_ = c.Conn().SetReadDeadline(lifetime.Now().Add(time.Millisecond))
	_, err := c.ReceiveMessage(context.Background())
	_ = c.Conn().SetReadDeadline(time.Time{})
	return err != nil && !pgconn.Timeout(err)
}

// bounded reports whether the age of a pool's connections is bounded as it has to be.
func bounded(c *pgxpool.Config) bool {
	return c.MaxConnLifetime > 0 && c.MaxConnLifetime+c.MaxConnLifetimeJitter <= lifetime.MaxAge
}

// readOnlyDefault is the setting with which an operator makes a server read-only.
const readOnlyDefault = "default_transaction_read_only"

// check returns an error unless a pool was prepared and its sessions heed what an operator sets.
func check(c *pgxpool.Config) error {
	if !prepared(c) {
		return errors.New("the pool does not tell of warnings; call postgres.Prepare with its " +
			"configuration before it is made")
	}
	if !bounded(c) {
		return fmt.Errorf("MaxConnLifetime of the pool is %v plus a random %v; at most %v is allowed; "+
			"call postgres.Prepare last", c.MaxConnLifetime, c.MaxConnLifetimeJitter, lifetime.MaxAge)
	}
	params := c.ConnConfig.RuntimeParams
	where := ""
	if strings.Contains(params["options"], readOnlyDefault) {
		where = " in its options"
	}
	if _, set := params[readOnlyDefault]; set || where != "" {
		return errors.New("the pool sets " + readOnlyDefault + where +
			", which hides what an operator sets; leave it out")
	}
	return nil
}

// prepared reports whether a pool was.
func prepared(c *pgxpool.Config) bool {
	hear := c.ConnConfig.OnNotice
	if hear == nil {
		return false
	}
	n := &pgconn.Notice{Message: probe, SeverityUnlocalized: "DEBUG"}
	hear(nil, n)
	return n.Detail != ""
}

// forget is called before a transaction whose end is then looked at with confirmed.
func forget(c *pgconn.PgConn) { delete(c.CustomData(), warning) }

// confirmed returns an error if the server has warned since forget: a commit whose wait for a
// standby was cancelled is confirmed with a warning.
func confirmed(c *pgconn.PgConn) error {
	if said := c.CustomData()[warning]; said != nil {
		return fmt.Errorf("the commit was confirmed with a warning, so that others may not have it: %v",
			said)
	}
	return nil
}

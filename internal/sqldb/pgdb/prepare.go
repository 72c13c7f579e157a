package pgdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// warning is the key of what a connection keeps of a warning.
const warning = "unalike: warning"

// probe is a notice that asks whether a pool was prepared.
const probe = "unalike: was this pool prepared?"

// Prepare sets what every pool needs: warnings are heard with which the server confirms a commit
// that its standby may not have, text is UTF-8 whatever the database's encoding is, and an idle
// connection is looked at rather than pinged, which would cost a round trip.
func Prepare(c *pgxpool.Config) {
	//mutant:pg-encoding
	c.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" // otherwise it is that of the database
	if c.ShouldPing == nil {
		c.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
			//nolint:staticcheck // a request whose answer is lost is found out, or does not matter
			return p.IdleDuration > time.Second && p.Conn.PgConn().CheckConn() != nil
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

// Prepared reports whether a pool was.
func Prepared(pool *pgxpool.Pool) bool {
	hear := pool.Config().ConnConfig.OnNotice
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

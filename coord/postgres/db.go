package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlstore"
)

// db implements [sqlstore.DB].
type db struct{ pool *pgxpool.Pool }

// The statements around those of a transaction. With read committed, each sees what was
// committed before it, and so what a lock has waited for. What is confirmed is on disk,
// and with synchronous_commit on also where synchronous_standby_names says.
const (
	beginRead  = `BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY`
	beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT set_config('client_min_messages', 'warning', true), set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') OR current_setting('client_min_messages') IN ('error', 'fatal', 'panic')`
)

// Transact implements [sqlstore.DB]. It is one message, so that a client whose last packet is
// lost leaves no locks. Nothing is prepared, and no state of the session is used: a pooler
// between us and the server may have another connection for the next one.
func (d *db) Transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	rows, err := d.transact(ctx, write, statements)
	if _, said := errors.AsType[*pgconn.ConnectError](err); said {
		err = oneLine{err} // which says where the server is
	} else if err != nil {
		at := d.pool.Config().ConnConfig
		err = fmt.Errorf("PostgreSQL at %s: %w", net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), err)
	}
	return rows, err
}

// oneLine is an error whose text has several lines, one for each server.
type oneLine struct{ err error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e oneLine) Unwrap() error { return e.err }

func (d *db) transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // which closes one that is within a transaction
	c := conn.Conn().PgConn()
	delete(c.CustomData(), warning)
	begin := beginRead
	if write {
		begin = beginWrite
	}
	results, err := c.Exec(ctx, begin+"; "+sqlstore.Script(statements, literal)+"; COMMIT").ReadAll()
	if err != nil {
		if c.TxStatus() == 'E' { // the server has answered, and the connection is as good as before
			_, _ = c.Exec(ctx, "ROLLBACK").ReadAll()
		}
		return nil, err
	}
	if said := c.CustomData()[warning]; write && said != nil {
		return nil, fmt.Errorf("the commit was confirmed with a warning, so that others may not have it: %v", said)
	}
	return rows(results[len(results)-2]), nil
}

// literal is text, whatever the server's settings and encoding are.
func literal(text string) string {
	return fmt.Sprintf("convert_from(decode('%x', 'hex'), 'UTF8')", text)
}

// rows are the rows of a result, as text.
func rows(r *pgconn.Result) [][]string {
	all := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, value := range row {
			all[i] = append(all[i], string(value))
		}
	}
	return all
}

// Number implements [sqlstore.DB].
func (d *db) Number(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// Class implements [sqlstore.DB].
func (d *db) Class(err error) sqlstore.Class {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return sqlstore.Unknown
	}
	switch e.Code {
	case "40001", "40P01", "55P03":
		return sqlstore.Race
	case "23505":
		return sqlstore.Duplicate
	case "42P01":
		return sqlstore.NoTables
	case "42501", "3F000":
		return sqlstore.Denied
	case "28000", "28P01", "3D000", "22P05": // the last: the database's encoding does not have a character
		return sqlstore.Refused
	}
	return sqlstore.Unknown
}

// warning is the key of what a connection keeps of a warning.
const warning = "unalike: warning"

// probe is a notice that asks whether a pool was prepared.
const probe = "unalike: was this pool prepared?"

// Prepare sets what [New] needs of a pool, before the pool is made: that warnings are heard
// with which the server confirms a commit that its standby may not have, that text is UTF-8
// whatever the database's encoding is, and that an idle connection is looked at rather than
// pinged, which would cost a round trip.
func Prepare(c *pgxpool.Config) {
	c.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" // otherwise it is that of the database
	next := c.ConnConfig.OnNotice
	c.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		switch {
		case conn == nil && n.Message == probe:
			n.Detail = "it was"
			return
		case n.SeverityUnlocalized == "WARNING" && n.File != "varsup.c" && n.File != "multixact.c": // which want a VACUUM
			conn.CustomData()[warning] = n.Message
		}
		if next != nil {
			next(conn, n)
		}
	}
	if c.ShouldPing == nil {
		c.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
			return p.IdleDuration > time.Second && p.Conn.PgConn().CheckConn() != nil //nolint:staticcheck // whether the rest of an answer that is lost was done is found out
		}
	}
}

// prepared reports whether a pool was.
func prepared(pool *pgxpool.Pool) bool {
	hear := pool.Config().ConnConfig.OnNotice
	if hear == nil {
		return false
	}
	n := &pgconn.Notice{Message: probe, SeverityUnlocalized: "DEBUG"}
	hear(nil, n)
	return n.Detail != ""
}

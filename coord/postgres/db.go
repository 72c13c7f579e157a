package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
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
	return rows, pgdb.Located(d.pool, err)
}

func (d *db) transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // which closes one that is within a transaction
	begin, send := beginRead, pgdb.Send
	if write {
		begin, send = beginWrite, pgdb.Commit
	}
	results, err := send(ctx, conn.Conn().PgConn(), begin+"; "+sqlstore.Script(statements, pgdb.Text)+"; COMMIT")
	if err != nil {
		return nil, err
	}
	return pgdb.Rows(results[len(results)-2]), nil
}

// Number implements [sqlstore.DB].
func (d *db) Number(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// Class implements [sqlstore.DB].
func (d *db) Class(err error) sqldb.Class { return pgdb.Class(err) }

// Prepare sets what [New] needs of a pool, before the pool is made: that warnings are heard
// with which the server confirms a commit that its standby may not have, that text is UTF-8
// whatever the database's encoding is, and that an idle connection is looked at rather than
// pinged, which would cost a round trip.
func Prepare(c *pgxpool.Config) { pgdb.Prepare(c) }

package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// db implements [sqlsegment.DB].
type db struct {
	pool  *pgxpool.Pool
	owned bool // the pool was made here
}

// Take implements [sqlsegment.DB].
func (d *db) Take(ctx context.Context, statement string) (next int64, done bool, err error) {
	results, err := d.send(ctx, pgdb.Commit, statement)
	if err != nil {
		return 0, false, err
	}
	rows := results[len(results)-2].Rows // before COMMIT
	if len(rows) == 0 {
		return 0, false, nil
	}
	if err := sqlsegment.OneRow(int64(len(rows))); err != nil {
		return 0, false, err
	}
	next, err = strconv.ParseInt(string(rows[0][0]), 10, 64)
	return next, err == nil, err
}

// Query implements [sqlsegment.DB].
func (d *db) Query(ctx context.Context, statement string) ([][]string, error) {
	results, err := d.send(ctx, pgdb.Send, statement)
	if err != nil {
		return nil, err
	}
	return pgdb.Rows(results[0]), nil
}

// send sends one message of several statements with a function of pgdb.
func (d *db) send(ctx context.Context, with func(context.Context, *pgconn.PgConn, string) ([]*pgconn.Result, error), message string) ([]*pgconn.Result, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, d.located(err)
	}
	defer conn.Release() // which closes one that is within a transaction
	results, err := with(ctx, conn.Conn().PgConn(), message)
	return results, d.located(err)
}

// Transact implements [sqlsegment.DB].
func (d *db) Transact(ctx context.Context, f func(exec sqlsegment.Exec) error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return d.located(err)
	}
	defer conn.Release()
	pgdb.Forget(conn.Conn().PgConn())
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return d.located(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit, and closes the connection if ctx has ended
	exec := func(statement string) (int64, error) {
		tag, err := tx.Exec(ctx, statement)
		return tag.RowsAffected(), d.located(err)
	}
	if _, err := exec(settings); err != nil {
		return err
	}
	if err := f(exec); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return d.located(err)
	}
	return d.located(pgdb.Confirmed(conn.Conn().PgConn()))
}

// Close implements [sqlsegment.DB].
func (d *db) Close() error {
	if d.owned {
		pgdb.Close(d.pool)
	}
	return nil
}

// located adds to an error where the server is.
func (d *db) located(err error) error { return pgdb.Located(d.pool, err) }

// Class implements [sqlsegment.DB].
func (d *db) Class(err error) sqldb.Class { return pgdb.Class(err) }

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// db implements [sqlsegment.DB].
type db struct {
	pool  *pgxpool.Pool
	owned bool // the pool was made here
}

// Take implements [sqlsegment.DB].
func (d *db) Take(ctx context.Context, statement string) (next int64, done bool, err error) {
	results, err := d.send(ctx, statement)
	if err != nil {
		return 0, false, err
	}
	rows := results[len(results)-2].Rows // before COMMIT
	if len(rows) == 0 {
		return 0, false, nil
	}
	next, err = strconv.ParseInt(string(rows[0][0]), 10, 64)
	return next, err == nil, err
}

// Query implements [sqlsegment.DB].
func (d *db) Query(ctx context.Context, statement string) ([][]string, error) {
	results, err := d.send(ctx, statement)
	if err != nil {
		return nil, err
	}
	all := make([][]string, len(results[0].Rows))
	for i, row := range results[0].Rows {
		for _, value := range row {
			all[i] = append(all[i], string(value))
		}
	}
	return all, nil
}

// send sends one message of several statements.
func (d *db) send(ctx context.Context, message string) ([]*pgconn.Result, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, d.located(err)
	}
	defer conn.Release() // which closes one that is within a transaction
	c := conn.Conn().PgConn()
	results, err := c.Exec(ctx, message).ReadAll()
	if err != nil && c.TxStatus() == 'E' { // the server has answered, and the connection is as good as before
		_, _ = c.Exec(ctx, "ROLLBACK").ReadAll()
	}
	return results, d.located(err)
}

// Transact implements [sqlsegment.DB].
func (d *db) Transact(ctx context.Context, f func(exec sqlsegment.Exec) error) error {
	tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return d.located(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after Commit
	exec := func(statement string) (int64, error) {
		tag, err := tx.Exec(ctx, statement)
		return tag.RowsAffected(), d.located(err)
	}
	if _, err := exec("SET LOCAL synchronous_commit = on"); err != nil {
		return err
	}
	if err := f(exec); err != nil {
		return err
	}
	return d.located(tx.Commit(ctx))
}

// closeTime is how long Close waits for connections. A pool gives one that does not answer 15 s.
const closeTime = time.Second

// Close implements [sqlsegment.DB].
func (d *db) Close() error {
	if !d.owned {
		return nil
	}
	closed := make(chan struct{})
	go func() {
		d.pool.Close()
		close(closed)
	}()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-closed:
	case <-late.C:
	}
	return nil
}

// oneLine is an error whose text has several lines, one for each server.
type oneLine struct{ err error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e oneLine) Unwrap() error { return e.err }

// located adds to an error where the server is.
func (d *db) located(err error) error {
	if err == nil {
		return nil
	}
	if _, said := errors.AsType[*pgconn.ConnectError](err); said {
		return oneLine{err} // which says it
	}
	at := d.pool.Config().ConnConfig
	return fmt.Errorf("PostgreSQL at %s: %w", net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), err)
}

// Class implements [sqlsegment.DB].
func (d *db) Class(err error) sqlsegment.Class {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return sqlsegment.Unknown
	}
	switch e.Code {
	case "40001", "40P01", "55P03":
		return sqlsegment.Race
	case "23505", "42P07":
		return sqlsegment.Duplicate
	case "42P01":
		return sqlsegment.NoTable
	case "42501":
		return sqlsegment.Denied
	case "25006", "55000": // a standby does not know its position either
		return sqlsegment.ReadOnly
	case "28000", "28P01", "3D000":
		return sqlsegment.Refused
	}
	return sqlsegment.Unknown
}

package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
	"github.com/unalike-id/unalike/segment"
)

// db implements [sqlsegment.DB]. Statements have no arguments, with which the driver would prepare them first.
type db struct {
	pool  *sql.DB
	at    string // where the server is; empty: that is not known
	owned bool   // the pool was made here, and nobody else has its connections
}

// What ends a transaction, whatever completion_type is.
const (
	rollback = "ROLLBACK AND NO CHAIN NO RELEASE"
	commit   = "COMMIT AND NO CHAIN NO RELEASE"
)

// sender is a pool or a connection.
type sender interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sender returns where a statement is committed when the server confirms it, and what to call after it. A connection of a pool that
// others use may have been left within a transaction, and the driver does not tell.
func (d *db) sender(ctx context.Context) (sender, func(), error) {
	if d.owned {
		return d.pool, func() {}, nil
	}
	conn, err := d.conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() { _ = conn.Close() }, nil
}

// conn returns a connection that is within no transaction. One that the server has closed meanwhile is left for the next.
func (d *db) conn(ctx context.Context) (conn *sql.Conn, err error) {
	for range 1 + d.pool.Stats().OpenConnections {
		if conn, err = d.pool.Conn(ctx); err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, rollback); err == nil {
			return conn, nil
		}
		drop(conn)
		if !errors.Is(err, driver.ErrBadConn) {
			return nil, err
		}
	}
	return nil, err
}

// drop closes a connection, rather than giving it back to the pool: what is left open on it ends with it.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// Take implements [sqlsegment.DB]: one statement, which is committed with its answer unless there is a transaction.
func (d *db) Take(ctx context.Context, statement string) (next int64, done bool, err error) {
	to, end, err := d.sender(ctx)
	if err != nil {
		return 0, false, d.located(err)
	}
	defer end()
	result, err := to.ExecContext(ctx, statement)
	if err != nil {
		return 0, false, d.located(err)
	}
	changed, err1 := result.RowsAffected()
	next, err2 := result.LastInsertId()
	if changed == 1 && next == 0 {
		return 0, false, errTrigger
	}
	return next, changed == 1, errors.Join(err1, err2, sqlsegment.OneRow(changed))
}

// errTrigger is returned because a trigger on the table has the server say nothing of the new value.
var errTrigger = fmt.Errorf("%w: the server does not say which range was taken, as is so with a trigger on the table; drop the trigger", segment.ErrInvalidConfig)

// Query implements [sqlsegment.DB].
func (d *db) Query(ctx context.Context, statement string) (all [][]string, err error) {
	from, end, err := d.sender(ctx)
	if err != nil {
		return nil, d.located(err)
	}
	defer end()
	rows, err := from.QueryContext(ctx, statement)
	if err != nil {
		return nil, d.located(err)
	}
	defer func() { _ = rows.Close() }()
	all, _, err = mysqldb.Rows(rows)
	return all, d.located(err)
}

// Transact implements [sqlsegment.DB]. It writes the transaction out on a connection, where package database/sql sends each statement once: committing a
// sql.Tx does not end with a context, and would wait for a server that is frozen as long as that is.
func (d *db) Transact(ctx context.Context, f func(exec sqlsegment.Exec) error) (err error) {
	conn, err := d.conn(ctx)
	if err != nil {
		return d.located(err)
	}
	defer func() {
		if err != nil {
			drop(conn) // it may be within the transaction
		}
		_ = conn.Close()
	}()
	exec := func(statement string) (int64, error) {
		result, err := conn.ExecContext(ctx, statement)
		if err != nil {
			return 0, d.located(err)
		}
		return result.RowsAffected()
	}
	if _, err := exec("START TRANSACTION READ WRITE"); err != nil {
		return err
	}
	if err := f(exec); err != nil {
		return err
	}
	_, err = exec(commit)
	return err
}

// Close implements [sqlsegment.DB].
func (d *db) Close() error {
	if d.owned {
		return d.pool.Close()
	}
	return nil
}

// located adds to an error where the server is.
func (d *db) located(err error) error { return mysqldb.Located(d.at, err) }

// Class implements [sqlsegment.DB].
func (d *db) Class(err error) sqldb.Class { return mysqldb.Class(err) }

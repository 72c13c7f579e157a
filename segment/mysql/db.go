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
	owned bool   // the pool was made here
}

// Take implements [sqlsegment.DB].
func (d *db) Take(ctx context.Context, statement string) (next int64, done bool, err error) {
	result, err := d.pool.ExecContext(ctx, statement)
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
	rows, err := d.pool.QueryContext(ctx, statement)
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
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return d.located(err)
	}
	defer func() {
		if err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // it may be within the transaction, which ends with it
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
	if _, err := exec("START TRANSACTION"); err != nil {
		return err
	}
	if err := f(exec); err != nil {
		return err
	}
	_, err = exec("COMMIT")
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

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

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
	return next, changed == 1, errors.Join(err1, err2)
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
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, d.located(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
		}
		all = append(all, row)
	}
	return all, d.located(rows.Err())
}

// Transact implements [sqlsegment.DB]. Package database/sql sends a statement of a transaction once.
func (d *db) Transact(ctx context.Context, f func(exec sqlsegment.Exec) error) error {
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return d.located(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := f(func(statement string) (int64, error) {
		result, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return 0, d.located(err)
		}
		return result.RowsAffected()
	}); err != nil {
		return err
	}
	return d.located(tx.Commit())
}

// Close implements [sqlsegment.DB].
func (d *db) Close() error {
	if d.owned {
		return d.pool.Close()
	}
	return nil
}

// located adds to an error where the server is.
func (d *db) located(err error) error {
	if err == nil || d.at == "" {
		return err
	}
	return fmt.Errorf("MySQL at %s: %w", d.at, err)
}

// Class implements [sqlsegment.DB].
func (d *db) Class(err error) sqlsegment.Class {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return sqlsegment.Unknown
	}
	switch e.Number {
	case 1205, 1213, 1020:
		return sqlsegment.Race
	case 1050, 1062:
		return sqlsegment.Duplicate
	case 1146:
		return sqlsegment.NoTable
	case 1142, 1143, 1227:
		return sqlsegment.Denied
	case 1290, 1792, 1836:
		return sqlsegment.ReadOnly
	case 1044, 1045, 1049:
		return sqlsegment.Refused
	}
	return sqlsegment.Unknown
}

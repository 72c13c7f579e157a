package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// db implements [sqlstore.DB].
type db struct {
	pool *sql.DB
	at   string // where the server is; empty: that is not known
}

// What begins a transaction. The level is that which can be had with every binary log.
const (
	beginRead  = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ ONLY"
	beginWrite = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ WRITE"
)

// Transact implements [sqlstore.DB].
func (d *db) Transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	rows, err := d.transact(ctx, write, statements)
	if err != nil && d.at != "" {
		err = fmt.Errorf("MySQL at %s: %w", d.at, err)
	}
	return rows, err
}

func (d *db) transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	all := []string{beginRead}
	if write {
		all = []string{beginWrite}
	}
	for _, s := range statements {
		all = append(all, fill(s))
	}
	all = append(all, "COMMIT")
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	rows, err := last(conn.QueryContext(ctx, strings.Join(all, "; ")))
	if err == nil {
		return rows, nil
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == 1064 {
		err = fmt.Errorf("%w: the pool was made without MultiStatements, which this driver needs, or the server does not understand: %w", coord.ErrInvalid, err)
	}
	// What was done of the transaction ends with the connection.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	return nil, err
}

// last returns the rows of the last answer that has any.
func last(rows *sql.Rows, err error) (all [][]string, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for more := true; more; more = rows.NextResultSet() {
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		if len(columns) == 0 {
			continue
		}
		all = nil
		for rows.Next() {
			values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				return nil, err
			}
			row := make([]string, len(columns))
			for i, v := range values {
				row[i] = v.String
			}
			all = append(all, row)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

// argument is one in a statement.
var argument = regexp.MustCompile(`\$[0-9]+`)

// fill puts the arguments into a statement. Text is a hexadecimal literal, which means the
// same in every mode and character set.
func fill(s sqlstore.Statement) string {
	return argument.ReplaceAllStringFunc(s.SQL, func(name string) string {
		n, err := strconv.Atoi(name[1:])
		if err != nil || n < 1 || n > len(s.Args) {
			return name // for the server to refuse; a path into a record looks alike
		}
		switch v := s.Args[n-1].(type) {
		case int:
			return strconv.Itoa(v)
		case int64:
			return strconv.FormatInt(v, 10)
		default:
			return fmt.Sprintf("x'%x'", fmt.Sprint(v))
		}
	})
}

// Number implements [sqlstore.DB]: how many transactions there are in sets of GTIDs. MariaDB
// writes 0-1-17,1-1-3; MySQL uuid:1-17:19,uuid:1-3. Without a binary log there are none.
func (d *db) Number(s string) (n int64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		uuid, intervals, isMySQL := strings.Cut(part, ":")
		switch {
		case part == "":
			continue
		case !isMySQL:
			seq, err := strconv.ParseInt(uuid[strings.LastIndexByte(uuid, '-')+1:], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("the server's GTID position is %q: %w", s, err)
			}
			n += seq
			continue
		}
		for interval := range strings.SplitSeq(intervals, ":") {
			from, to, isRange := strings.Cut(interval, "-")
			if !isRange {
				to = from
			}
			a, err1 := strconv.ParseInt(from, 10, 64)
			b, err2 := strconv.ParseInt(to, 10, 64)
			if err := errors.Join(err1, err2); err != nil {
				return 0, fmt.Errorf("the server's GTID set is %q: %w", s, err)
			}
			n += b - a + 1
		}
	}
	return n, nil
}

// Class implements [sqlstore.DB].
func (d *db) Class(err error) sqlstore.Class {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return sqlstore.Unknown
	}
	switch e.Number {
	case 1205, 1213, 1020:
		return sqlstore.Race
	case 1062:
		return sqlstore.Duplicate
	case 1146:
		return sqlstore.NoTables
	case 1142, 1143, 1227:
		return sqlstore.Denied
	case 1044, 1045, 1049:
		return sqlstore.Refused
	}
	return sqlstore.Unknown
}

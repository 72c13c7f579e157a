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
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
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
	// What ends one, whatever completion_type is.
	commit = "COMMIT AND NO CHAIN NO RELEASE"
	// What ends a query, whatever sql_select_limit is.
	unlimited = " LIMIT 18446744073709551615"
)

// Transact implements [sqlstore.DB].
func (d *db) Transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	rows, err := d.transact(ctx, write, statements)
	return rows, mysqldb.Located(d.at, err)
}

func (d *db) transact(ctx context.Context, write bool, statements []sqlstore.Statement) ([][]string, error) {
	begin := beginRead
	if write {
		begin = beginWrite
	}
	script := begin + "; " + sqlstore.Script(statements, quoted)
	if strings.HasPrefix(statements[len(statements)-1].SQL, "SELECT") {
		script += unlimited
	}
	script += "; " + commit
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	rows, err := last(conn.QueryContext(ctx, script))
	if err == nil {
		return rows, nil
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch e.Number {
		case 1064:
			err = fmt.Errorf("%w: the pool was made without MultiStatements, which this driver needs, or the server does not understand: %w", coord.ErrInvalid, err)
		case 1242: // which is how the number is refused
			err = fmt.Errorf("the server is read-only, as a replica is: %w", err)
		}
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
		these, columns, err := mysqldb.Rows(rows)
		if err != nil {
			return nil, err
		}
		if columns > 0 {
			all = these
		}
	}
	return all, rows.Err()
}

// quoted is a hexadecimal literal, which means the same in every mode and character set.
func quoted(text string) string { return fmt.Sprintf("x'%x'", text) }

// Number implements [sqlstore.DB]: how many transactions there are in sets of GTIDs. MariaDB
// writes 0-1-17,1-1-3; MySQL uuid:1-17:19,uuid:1-3:tag:1-5. Without a binary log there are none.
func (d *db) Number(s string) (n int64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, intervals, isMySQL := strings.Cut(part, ":")
		if !isMySQL {
			intervals = "1-" + id[strings.LastIndexByte(id, '-')+1:]
		}
		for interval := range strings.SplitSeq(intervals, ":") {
			if tag.MatchString(interval) && isMySQL {
				continue
			}
			seq, err := length(interval)
			if n += seq; err != nil || n < 0 {
				return 0, fmt.Errorf("the server's GTID position is %q, which this driver does not understand", s)
			}
		}
	}
	return n, nil
}

// tag is the name of some of a server's transactions, before their intervals.
var tag = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,31}$`)

// length is how many numbers there are from 1 to 17 in 1-17, and 1 in 19.
func length(interval string) (int64, error) {
	from, to, isRange := strings.Cut(interval, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	if errA != nil || errB != nil || a < 1 || b < a-1 {
		return 0, fmt.Errorf("%q is no interval", interval)
	}
	return b - a + 1, nil
}

// Class implements [sqlstore.DB].
func (d *db) Class(err error) sqldb.Class { return mysqldb.Class(err) }

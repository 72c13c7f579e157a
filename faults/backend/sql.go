package backend

import (
	"database/sql"
	"slices"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the clients
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Tables is a back end that keeps its state in tables, with which somebody who has all
// rights can do anything.
type Tables interface {
	// Exec makes statements in one transaction at the server that is written to, and not
	// through the proxy. It returns how many rows the last one has changed.
	Exec(tb testing.TB, statements ...string) int64
	// Lock locks all rows, until the function is called that it returns.
	Lock(tb testing.TB) (unlock func())
}

// tablesPrefix begins the names of the tables, and is part of every call.
const tablesPrefix = "unalike_"

// endLeases ends the leases of all holders, as if they had not renewed them in time.
const endLeases = "UPDATE unalike_slots SET lease_ends = 0 WHERE token IS NOT NULL AND lease_ends > 0"

// database is what back ends with tables have in common.
type database struct {
	common
	// where returns the Go driver and the data source of the server that is written to, for
	// somebody with all rights.
	where func(testing.TB) (driver, source string)
	// disconnect is a statement that ends the connections of all clients.
	disconnect string
}

// Exec implements Tables. Its connection is a new one: an earlier one may be of a server
// that has ended. One statement alone is outside of a transaction, where some have to be.
func (b *database) Exec(tb testing.TB, statements ...string) (rows int64) {
	tb.Helper()
	db, err := sql.Open(b.where(tb))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	ctx := streamtest.Within(tb)
	conn, err := db.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	if len(statements) > 1 {
		statements = slices.Concat([]string{"START TRANSACTION"}, statements, []string{"COMMIT"})
	}
	for _, statement := range statements {
		result, err := conn.ExecContext(ctx, statement)
		if err != nil {
			tb.Fatalf("%s: %s: %v", b.name, statement, err)
		}
		if n, err := result.RowsAffected(); err == nil && statement != "COMMIT" {
			rows = n
		}
	}
	return rows
}

// Lock implements Tables.
func (b *database) Lock(tb testing.TB) (unlock func()) {
	tb.Helper()
	db, err := sql.Open(b.where(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, table := range []string{"namespaces", "slots"} {
		if _, err := tx.ExecContext(streamtest.Within(tb), "SELECT 1 FROM "+tablesPrefix+table+" FOR UPDATE"); err != nil {
			tb.Fatal(err)
		}
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			tb.Fatal(err)
		}
	}
}

// value returns the only value that a query has.
func (b *database) value(tb testing.TB, query string) (v string) {
	tb.Helper()
	db, err := sql.Open(b.where(tb))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(streamtest.Within(tb), query).Scan(&v); err != nil {
		tb.Fatalf("%s: %s: %v", b.name, query, err)
	}
	return v
}

// EndSessions implements SessionEnder. The server does not tie leases to connections, so
// that both are ended.
func (b *database) EndSessions(tb testing.TB) int {
	tb.Helper()
	n := b.Exec(tb, endLeases)
	b.Exec(tb, b.disconnect)
	return int(n)
}

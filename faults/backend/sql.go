package backend

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the clients
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Tables is a back end that keeps its state in tables, with which somebody who has all
// rights can do anything.
type Tables interface {
	// Exec makes a statement at the server that is written to, and not through the proxy.
	// It returns how many rows were changed.
	Exec(tb testing.TB, statement string) int64
}

// statement of every call at a database has this in it: it begins the names of the tables.
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
// that has ended.
func (b *database) Exec(tb testing.TB, statement string) int64 {
	tb.Helper()
	db, err := sql.Open(b.where(tb))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	result, err := db.ExecContext(streamtest.Within(tb), statement)
	if err != nil {
		tb.Fatalf("%s: %s: %v", b.name, statement, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// Value returns the only value that a query has.
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

// Package sqltest holds the tests that the drivers for SQL databases share: what is easily
// got wrong there, on a real server.
package sqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// Database is one on a server of a test.
type Database struct {
	DB      sqlstore.Database
	Dialect sqlstore.Dialect
	Accept  []string
	// SQL is for what is done by hand, by somebody with all rights.
	SQL *sql.DB
	// Waiting is a query that tells how many transactions wait for a lock.
	Waiting string
	// Next is an expression: the next number of a sequence, %s.
	Next string
}

// Exec makes a statement by hand.
func (d *Database) Exec(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if _, err := d.SQL.ExecContext(drivertest.Within(tb), fmt.Sprintf(format, args...)); err != nil {
		tb.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// Int reads a number by hand.
func (d *Database) Int(tb testing.TB, format string, args ...any) int64 {
	tb.Helper()
	return read[int64](tb, d, fmt.Sprintf(format, args...))
}

// Text reads a text by hand.
func (d *Database) Text(tb testing.TB, format string, args ...any) string {
	tb.Helper()
	return read[string](tb, d, fmt.Sprintf(format, args...))
}

func read[T any](tb testing.TB, d *Database, query string) (value T) {
	tb.Helper()
	if err := d.SQL.QueryRowContext(drivertest.Within(tb), query).Scan(&value); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}

// New returns a coordinator that ends with the test, and its link to the database.
func (d *Database) New(tb testing.TB, namespace string) (*protocol.Coordinator, *Link) {
	tb.Helper()
	l := &Link{Database: d.DB}
	c, err := sqlstore.New(l, d.Dialect, namespace, sqlstore.Options{Accept: d.Accept})
	return drivertest.Closing(tb, c, err).Coordinator, l
}

// Link is a connection to a database on which something can happen.
type Link struct {
	sqlstore.Database
	mu    sync.Mutex
	trips int
	left  int    // transactions until act is called; 0: it is not
	act   func() // nil: the reply to that transaction is lost
	acted bool
	lose  bool // the reply to the next transaction that writes is lost
}

// errLost is the error of a reply that was lost.
var errLost = errors.New("the connection was closed before the answer came")

// Transact implements [sqlstore.DB].
func (l *Link) Transact(ctx context.Context, write bool,
	s []sqlstore.Statement,
) ([][]string, error) {
	l.mu.Lock()
	l.trips++
	var act func()
	lost := false
	if l.left > 0 {
		if l.left--; l.left == 0 {
			act, l.acted, lost = l.act, true, l.act == nil
		}
	}
	db := l.Database
	l.mu.Unlock()
	if act != nil {
		act()
	}
	rows, err := db.Transact(ctx, write, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && (lost || l.lose && write && len(s) > 1) {
		// a survey that draws a ticket is one statement
		l.lose = l.lose && lost
		return nil, errLost
	}
	return rows, err
}

// To has the link lead to another database of the same kind from now on.
func (l *Link) To(db sqlstore.Database) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Database = db
}

// LoseNext loses the reply to the next transaction that writes.
func (l *Link) LoseNext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = true
}

// Trips returns how many transactions there were since it was called last. Each is one round
// trip.
func (l *Link) Trips() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.trips
	l.trips = 0
	return n
}

// Before has act called before the n-th transaction from now on; without it, the reply to that
// is lost.
func (l *Link) Before(n int, act func()) (acted func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.act, l.acted = n, act, false
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.left = 0
		return l.acted
	}
}

// newName returns the name of a new namespace, which needs no quotes within quotes.
func newName() string { return rand.Text() }

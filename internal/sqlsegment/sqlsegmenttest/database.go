package sqlsegmenttest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// Store is what the tests need of a store.
type Store interface {
	segment.Store
	segment.Creator
	segment.Advancer
	segment.Warner
}

// Server is a real server.
type Server interface {
	Kill()
	Restart(tb testing.TB)
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)
}

// Database is a server and how to use it.
type Database struct {
	// Open returns a store with a pool of its own over a wire; skip is that of its options. It is closed with the test.
	Open func(tb testing.TB, w *Wire, skip int64) Store
	SQL  *sql.DB // statements of tests; the table is there
	Addr string
	// Idle ends the connections that wait for a client within a transaction.
	Idle string
	// Race are statements that have two of three updates of the table fail as in a dead lock.
	Race []string
	// Calm is a statement that undoes it.
	Calm string
}

// callTime is for one call on a machine that is busy with other things.
const callTime = 5 * time.Minute

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// Exec runs a statement.
func (d *Database) Exec(tb testing.TB, statement string) {
	tb.Helper()
	if _, err := d.SQL.ExecContext(within(tb), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// create makes a tag in d that begins at 1, and returns the store with which it did.
func (d *Database) create(tb testing.TB, tag string, step int64) Store {
	tb.Helper()
	s := d.Open(tb, &Wire{}, 0)
	if err := s.Create(within(tb), segment.Tag{Name: tag, Next: 1, Step: step}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// wantTake takes ten numbers that are to begin at first.
func wantTake(tb testing.TB, s segment.Store, tag string, first int64) {
	tb.Helper()
	const step = 10
	if r, err := s.Take(within(tb), tag, step); err != nil || r != (segment.Range{First: first, Last: first + step - 1}) {
		tb.Errorf("Take(%q, %d) = %v, %v; want it to begin at %d", tag, step, r, err, first)
	}
}

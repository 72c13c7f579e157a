// Package sqltest holds the tests that the drivers for SQL databases share: what is easily
// got wrong there, on a real server.
package sqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// Database is one on a server, in a test.
type Database struct {
	DB      sqlstore.Database
	Dialect sqlstore.Dialect
	sqlstore.Options
	Hand
	// Waiting is a query that tells how many transactions wait for a lock.
	Waiting string
	// Next is an expression: the next number of a sequence, %s.
	Next string
}

// On returns the database for another test, or one below it.
func (d Database) On(tb testing.TB) *Database { d.TB = tb; return &d }

// Participant is a coordinator of a namespace, and its link to the database, in a test.
type Participant struct {
	testing.TB
	*protocol.Coordinator
	*Link
}

// New returns a participant that ends with the test.
func (d *Database) New(namespace string) Participant {
	d.Helper()
	l := &Link{Database: d.DB}
	c, err := sqlstore.New(l, d.Dialect, namespace, d.Options)
	return Participant{d.TB, drivertest.Closing(d, c, err), l}
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

// Transact implements [sqlstore.DB].
func (l *Link) Transact(ctx context.Context, write bool,
	s []sqlstore.Statement,
) ([][]string, error) {
	var act func()
	lost := false
	l.mu.Lock()
	l.trips++
	if l.left > 0 {
		if l.left--; l.left == 0 {
			act, l.acted, lost = l.act, true, l.act == nil
		}
	}
	l.mu.Unlock()
	if act != nil {
		act()
	}
	rows, err := l.Database.Transact(ctx, write, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && (lost || l.lose && write && len(s) > 1) {
		// a survey that draws a ticket is one statement
		l.lose = l.lose && lost
		return nil, errors.New("the connection was closed before the answer came")
	}
	return rows, err
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

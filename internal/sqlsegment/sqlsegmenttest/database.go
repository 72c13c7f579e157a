// Package sqlsegmenttest has the tests that stores of segments in SQL databases share, on real
// servers.
package sqlsegmenttest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/segment"
)

// Store is what the tests need of a store.
type Store interface {
	segment.Store
	segment.Creator
	segment.Advancer
	segment.Warner
}

// Database is a server and how to use it.
type Database struct {
	// Open returns a store with one connection of its own to an address; skip is that of its options.
	// It is closed with the test.
	Open         func(tb testing.TB, addr string, skip int64) Store
	sqltest.Hand // the table is there
	Addr         string
	// Idle is a statement that ends the connections that wait for a client within a transaction.
	Idle string
	// Retype begins a statement that gives max_id another type, and Nullable lets it be NULL.
	Retype, Nullable string
	// DropKey drops the table's primary key.
	DropKey string
	// Race are statements that have two of three updates of the table fail as in a dead lock.
	Race []string
	// Calm is a statement that undoes it.
	Calm string
}

// Within returns a context for one call on a machine that is busy with other things.
func Within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// Next is max_id of a tag.
func (d *Database) Next(tb testing.TB, tag string) int64 {
	tb.Helper()
	return d.Int(tb, "SELECT max_id FROM leaf_alloc WHERE biz_tag = '%s'", tag)
}

// Store opens a store that adds nothing to tags.
func (d *Database) Store(tb testing.TB) Store {
	tb.Helper()
	return d.Open(tb, d.Addr, 0)
}

// behind opens a store behind a proxy.
func (d *Database) behind(tb testing.TB) (Store, *proxytest.Proxy) {
	tb.Helper()
	p := proxytest.Start(tb, d.Addr)
	return d.Open(tb, p.Addr, 0), p
}

// Create makes a tag that begins at next, with a step of 10, and returns the store with which it
// did.
func (d *Database) Create(tb testing.TB, tag string, next int64) Store {
	tb.Helper()
	s := d.Store(tb)
	if err := s.Create(Within(tb), segment.Tag{Name: tag, Next: next, Step: 10}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// WantTake takes ten numbers that are to begin at first.
func WantTake(tb testing.TB, s segment.Store, tag string, first int64) {
	tb.Helper()
	r, err := s.Take(Within(tb), tag, 10)
	if err != nil || r != (segment.Range{First: first, Last: first + 9}) {
		tb.Errorf("Take(%q, 10) = %v, %v; want it to begin at %d", tag, r, err, first)
	}
}

// WantBack gives back the numbers from first to last, which is to be done.
func WantBack(tb testing.TB, s segment.Store, tag string, first, last int64) {
	tb.Helper()
	done, err := s.GiveBack(Within(tb), tag, segment.Range{First: first, Last: last})
	if !done || err != nil {
		tb.Errorf("GiveBack(%q) of %d to %d: %v, %v", tag, first, last, done, err)
	}
}

// WantRefused takes ten numbers, which is to fail with an error that wraps want and says something.
func WantRefused(tb testing.TB, s segment.Store, tag string, want error, says string) {
	tb.Helper()
	r, err := s.Take(Within(tb), tag, 10)
	if err == nil {
		tb.Errorf("Take(%q, 10) = %v", tag, r)
	}
	WantErr(tb, "Take of "+tag, err, want, says)
}

// WantErr checks what an error wraps and says.
func WantErr(tb testing.TB, what string, err, want error, says string) {
	tb.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		tb.Errorf("%s: %v; want %v, and %q in it", what, err, want, says)
	}
}

// Package sqlsegmenttest has the tests that stores of segments in SQL databases share, on real
// servers.
package sqlsegmenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
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

// Database is a server and how to use it, in a test.
type Database struct {
	// Open returns a store with one connection of its own to an address; skip is that of its options.
	// It is closed with the test.
	Open         func(tb testing.TB, addr string, skip int64) Store
	StoreURL     string // of segment.Open
	sqltest.Hand        // the table is there
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
	// Waits is a query of how many statements wait for a lock.
	Waits string
}

// On returns the database for another test, or one below it.
func (d Database) On(tb testing.TB) *Database { d.TB = tb; return &d }

// Within returns a context for one call on a machine that is busy with other things.
func (d *Database) Within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	d.Cleanup(cancel)
	return ctx
}

// Next is max_id of a tag.
func (d *Database) Next(tag string) int64 {
	d.Helper()
	return d.Int("SELECT max_id FROM leaf_alloc WHERE biz_tag = '%s'", tag)
}

// Store opens a store that adds nothing to tags.
func (d *Database) Store() Store {
	d.Helper()
	return d.Open(d, d.Addr, 0)
}

// opened opens a store by its URL with options, which has as many connections as it needs.
func (d *Database) opened(options string) segment.Store {
	d.Helper()
	s, err := segment.Open(d.Within(), d.StoreURL+options, segment.OpenOptions{})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = s.Close() })
	return s
}

// behind opens a store behind a proxy.
func (d *Database) behind() (Store, *proxytest.Proxy) {
	d.Helper()
	p := proxytest.Start(d, d.Addr)
	return d.Open(d, p.Addr, 0), p
}

// Create makes a tag that begins at next, with a step of 10, and returns the store with which it
// did.
func (d *Database) Create(tag string, next int64) Store {
	d.Helper()
	s := d.Store()
	if err := s.Create(d.Within(), segment.Tag{Name: tag, Next: next, Step: 10}); err != nil {
		d.Fatal(err)
	}
	return s
}

// WantTake takes ten numbers that are to begin at first.
func (d *Database) WantTake(s segment.Store, tag string, first int64) {
	d.Helper()
	r, err := s.Take(d.Within(), tag, 10)
	if err != nil || r != (segment.Range{First: first, Last: first + 9}) {
		safetytest.Unless(d, err).Errorf("Take(%q, 10) = %v, %v; want it to begin at %d", tag, r, err,
			first)
	}
}

// WantBack gives back the numbers from first to last, which is to be done.
func (d *Database) WantBack(s segment.Store, tag string, first, last int64) {
	d.Helper()
	done, err := s.GiveBack(d.Within(), tag, segment.Range{First: first, Last: last})
	if !done || err != nil {
		safetytest.Unless(d, err).Errorf("GiveBack(%q) of %d to %d: %v, %v", tag, first, last, done, err)
	}
}

// WantRefused takes ten numbers, which is to fail with an error that wraps want and says something.
func (d *Database) WantRefused(s segment.Store, tag string, want error, says string) {
	d.Helper()
	r, err := s.Take(d.Within(), tag, 10)
	if err == nil {
		safetytest.Of(d).Errorf("Take(%q, 10) = %v", tag, r)
	}
	d.WantErr("Take of "+tag, err, want, says)
}

// WantWhole takes ten numbers, and as many as the tag's step says, from a table that may store
// something else: either the row is as before, and nothing is handed out, or it is above what was.
func (d *Database) WantWhole(s segment.Store, tag string, changed bool, what string) {
	d.Helper()
	for _, step := range []int64{10, 0} {
		before := d.Next(tag)
		r, err := s.Take(d.Within(), tag, step)
		after := d.Next(tag)
		switch {
		case err == nil && (r.First != before || r.Last != after-1):
			safetytest.Of(d).Errorf("with %s: %v; max_id went from %d to %d", what, r, before, after)
		case err != nil && after != before:
			d.Errorf("with %s: %v; max_id went from %d to %d", what, err, before, after)
		case changed && !errors.Is(err, segment.ErrDamaged), !changed && err != nil && step > 0:
			d.Errorf("with %s: Take = %v, %v", what, r, err)
		}
	}
}

// WantErr checks what an error wraps and says; nil: there is none.
func (d *Database) WantErr(what string, err, want error, says string) {
	d.Helper()
	if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), says) {
		d.Errorf("%s: %v; want %v, and %q in it", what, err, want, says)
	}
}

package sqltest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// deletions are ways to delete a namespace by hand. Each leaves something that shows that it was
// there.
var deletions = map[string][]string{
	"Rows": {
		"DELETE FROM {p}slots WHERE namespace = '{ns}'",
		"DELETE FROM {p}namespaces WHERE namespace = '{ns}'",
	},
	"NamespaceRow":        {"DELETE FROM {p}namespaces WHERE namespace = '{ns}'"},
	"TruncatedTables":     {"TRUNCATE TABLE {p}slots", "TRUNCATE TABLE {p}namespaces"},
	"TruncatedAll":        truncateAll,
	"DroppedTables":       {"DROP VIEW {p}workers", "DROP TABLE {p}slots", "DROP TABLE {p}namespaces"},
	"DroppedAllButTicket": append([]string{"DROP VIEW {p}workers"}, dropTables...),
}

var (
	truncateAll = []string{
		"TRUNCATE TABLE {p}history", "TRUNCATE TABLE {p}slots", "TRUNCATE TABLE {p}namespaces",
	}
	dropTables = []string{
		"DROP TABLE {p}history", "DROP TABLE {p}slots", "DROP TABLE {p}namespaces",
	}
)

// deletes runs the statements of a deletion.
func (d *Database) deletes(statements []string, ns string) {
	d.Helper()
	words := strings.NewReplacer("{p}", d.Prefix, "{ns}", ns)
	for _, s := range statements {
		d.Do(words.Replace(s))
	}
}

// withTables returns the database with tables of its own, in another test, with a namespace.
func (d *Database) withTables(t *testing.T) (*Database, string) {
	t.Helper()
	at, ns := d.On(t), newName()
	at.Prefix = "p" + strings.ToLower(ns[:12]) + "_"
	at.New(newName()).mustAcquire(1) // which makes the tables
	return at, ns
}

// cutOff is a holder that is cut off: its window may reach until a tick.
type cutOff struct {
	Participant
	coord.Grant
	ns    string
	until int64
}

// deleted deletes a namespace that has a holder.
func (d *Database) deleted(ns string, statements []string) cutOff {
	d.Helper()
	holder := d.New(ns)
	g := holder.mustAcquire(64)
	d.deletes(statements, ns)
	return cutOff{holder, g, ns, drivertest.TickNow() + sqlstore.MaxHorizon.Milliseconds()}
}

// Deleted deletes a namespace while a holder is cut off. Whoever makes the namespace again grants
// nothing before the holder's window has ended.
func Deleted(t *testing.T, d *Database) {
	begins := map[string]func(d *Database, h cutOff){
		"Newcomer": func(*Database, cutOff) {},
		"Init": func(d *Database, h cutOff) {
			err := d.New(h.ns).Init(drivertest.Within(d), drivertest.Space())
			if err != nil && !errors.Is(err, coord.ErrInvalid) { // there are slots: it is not new
				d.Error(err)
			}
		},
		"HolderRenews": func(d *Database, h cutOff) {
			if r, err := h.renew(h.Grant); err == nil && r.NotBefore < h.until {
				d.Errorf("Renew of %v, whose namespace was deleted: %v", h.Grant, r)
			}
		},
	}
	for name, statements := range deletions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ns := d.withTables(t)
			var h cutOff
			newcomer := d.New(ns) // which has found nothing, and is about to make the namespace
			acted := newcomer.Before(2, func() { h = d.deleted(ns, statements) })
			g, err := newcomer.acquire(64)
			if coord.Permanent(err) || err == nil && g.NotBefore < h.until || !acted() {
				t.Errorf("Acquire: %v, %v; want a window that opens after tick %d, or an error that may pass",
					g, err, h.until)
			}
			if h.NotBefore > 0 {
				t.Errorf("a first start waits for its window: %v", h.Grant)
			}
			d.wantFloor(h)
			for name, begin := range begins {
				t.Run(name, func(t *testing.T) {
					d := d.On(t)
					h := d.deleted(ns, statements)
					begin(d, h)
					d.wantFloor(h)
				})
			}
		})
	}
	t.Run("History", func(t *testing.T) { historyDeleted(t, d) })
	t.Run("Remembered", func(t *testing.T) { remembered(t, d) })
}

// wantFloor acquires twice at once, in processes that know nothing of a deleted namespace.
func (d *Database) wantFloor(h cutOff) {
	d.Helper()
	var wg sync.WaitGroup
	for range 2 {
		newcomer := d.New(h.ns)
		wg.Go(func() {
			g, err := newcomer.acquire(64)
			if !errors.Is(err, coord.ErrQuarantined) && (err != nil || g.NotBefore < h.until) {
				d.Errorf("Acquire: %v, %v; want a window that opens after tick %d", g, err, h.until)
			}
		})
	}
	wg.Wait()
}

// historyDeleted deletes the history alone: holders go on, and every namespace that is made later
// begins with a floor.
func historyDeleted(t *testing.T, d *Database) {
	t.Helper()
	t.Parallel()
	d, ns := d.withTables(t)
	c := d.New(ns)
	g := c.mustAcquire(1)
	d.deletes([]string{"DELETE FROM {p}history"}, ns)
	c.mustRenew(g)
	c.wantLoss(false)
	d.New(newName()).wantWaits(true)
	// which an operator who knows that there was none can change
	d.deletes([]string{"UPDATE {p}history SET stamp = 0 WHERE namespace = '*'"}, ns)
	d.New(newName()).wantWaits(false)
}

// wantWaits acquires a worker ID of a namespace that is not there yet.
func (c Participant) wantWaits(want bool) {
	c.Helper()
	if g := c.mustAcquire(1); g.NotBefore > drivertest.TickNow() != want {
		c.Errorf("in a namespace that is made, %v was granted; want one that waits: %t", g, want)
	}
}

// remembered deletes a namespace that was declared with a horizon and is quarantined: both hold on.
func remembered(t *testing.T, d *Database) {
	t.Helper()
	t.Parallel()
	for _, deletion := range []string{"Rows", "NamespaceRow", "TruncatedTables", "DroppedTables"} {
		d, ns := d.withTables(t)
		c := d.New(ns)
		space := drivertest.Space()
		space.MaxHorizon = 6 * time.Hour
		if err := c.Init(drivertest.Within(t), space); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Quarantine(drivertest.Within(t), time.Now().Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		was, err := c.Inspect(drivertest.Within(t))
		if err != nil {
			t.Fatal(err)
		}
		d.deletes(deletions[deletion], ns)
		lost := time.Now().Add(space.MaxHorizon)
		req := drivertest.Request(1)
		req.Surviving, req.Until = true, req.Now+time.Hour.Milliseconds()
		drivertest.MustAcquire(t, d.New(ns), req)
		is, err := d.New(ns).Inspect(drivertest.Within(t))
		if err != nil || is.MaxHorizon != was.MaxHorizon || is.Base != was.Base ||
			is.Floor != was.Floor || is.Lost.Before(lost) {
			t.Errorf("%s: Inspect: %+v, %v; before, it was %+v; want a loss until %v at least", deletion,
				is, err, was, lost)
		}
	}
}

package sqltest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// Run runs the tests that need nothing but a database.
func Run(t *testing.T, d *Database) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *Database)
	}{
		{"Missing", Missing},
		{"Undone", Undone},
		{"ComeAgain", ComeAgain},
		{"Edited", Edited},
		{"Format", Format},
		{"Prefix", Prefix},
		{"Stored", Stored},
		{"Dropped", Dropped},
		{"Formatless", Formatless},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
}

// Format checks that tables are left alone which another version has made.
func Format(t *testing.T, d *Database) {
	ns, _, g := granted(t, d)
	refused := func(start, renewal string, change, undo []string) {
		t.Helper()
		d.Do(t, change...)
		newcomer := d.New(t, ns)
		_, err := acquire(t, newcomer, 2)
		drivertest.WantInvalid(t, "Acquire with other tables", err, start, "format 2")
		_, err = renew(t, newcomer, fresh(g))
		drivertest.WantInvalid(t, "Renew with other tables", err, renewal)
		d.Do(t, undo...)
	}
	refused("format 3", "format 3", []string{"INSERT INTO unalike_format (version) VALUES (3)"},
		[]string{"DELETE FROM unalike_format WHERE version = 3"})
	const rename = "ALTER TABLE unalike_slots RENAME COLUMN "
	refused("other columns than those of format 2", "format 1",
		[]string{"UPDATE unalike_format SET version = 1", rename + "identity TO gone"},
		[]string{rename + "gone TO identity", "UPDATE unalike_format SET version = 2"})
}

// Prefix checks that namespaces of the same name, or in the same tables, know nothing of each
// other.
func Prefix(t *testing.T, d *Database) {
	ns := newName()
	for _, place := range [][2]string{
		{ns, sqlstore.DefaultPrefix}, {newName(), sqlstore.DefaultPrefix}, {ns, "other_"},
	} {
		at := *d
		at.Prefix = place[1]
		c := at.New(t, place[0])
		g := mustAcquire(t, c, 1)
		if g.Generation != 1 {
			t.Errorf("in a new namespace, %v was granted", g)
		}
	}
	if n := d.Int(t, "SELECT COUNT(*) FROM unalike_slots WHERE namespace = '%s' AND version > 0",
		ns); n != 1 {
		t.Errorf("%d slots of namespace %s were written", n, ns)
	}
}

// Stored checks what is stored, whatever the session: a lease ends by the server's clock, text is
// found as it is, whatever is in it, and people can read who holds what.
func Stored(t *testing.T, d *Database) {
	ns := newName()
	c := d.New(t, ns)
	before, req := time.Now(), drivertest.Request(2)
	req.Identity, req.Holder = `größe 'n" \ 🦆`, `ein "Ωwner" '\`
	g := drivertest.MustAcquire(t, c, req)
	ends := time.UnixMicro(d.Int(t,
		"SELECT lease_ends FROM unalike_slots WHERE namespace = '%s' AND worker = %d", ns, g.WorkerID))
	if early, latest := before.Add(req.TTL-time.Second),
		time.Now().Add(req.TTL+time.Second); ends.Before(early) || ends.After(latest) {
		t.Errorf("the lease ends at %v; want a time between %v and %v", ends, early, latest)
	}
	slots, err := c.List(drivertest.Within(t))
	if err != nil || len(slots) != 1 || slots[0].Identity != req.Identity ||
		slots[0].Holder != req.Holder {
		t.Fatalf("List: %+v, %v", slots, err)
	}
	wantView := func(worker int, column, want string) {
		t.Helper()
		if s := d.Text(t, "SELECT %s FROM unalike_workers WHERE namespace = '%s' AND worker = %d", column,
			ns, worker); s != want {
			t.Errorf("the %s of worker ID %d is %q; want %q", column, worker, s, want)
		}
	}
	wantView(g.WorkerID, "state", "held")
	wantView(g.WorkerID, "holder", req.Holder)
	if err := c.Release(drivertest.Within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	req.Token = newName()
	if again := drivertest.MustAcquire(t, c, req); again.WorkerID != g.WorkerID {
		t.Errorf("the identity had %v, and gets %v", g, again)
	}
	d.expire(t, ns, g.WorkerID)
	wantView(g.WorkerID, "state", "free")
	req.Identity += " " // another one
	req.Token = newName()
	other := drivertest.MustAcquire(t, c, req)
	if other.WorkerID == g.WorkerID {
		t.Errorf("%v was granted to the identity with a space more, which had %v before", other, g)
	}
	if err := c.Retire(drivertest.Within(t), other.WorkerID); err != nil { // it is held
		t.Fatal(err)
	}
	wantView(other.WorkerID, "state", "retired")
}

// OneConnection is for a pool of one connection, which serves many.
func OneConnection(t *testing.T, d *Database) {
	c := d.New(t, newName())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			g, err := acquire(t, c, drivertest.Capacity)
			if err == nil {
				_, err = renew(t, c, g)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Risk checks that a server which has a risk is refused, unless that is accepted.
func Risk(t *testing.T, d *Database, risk string, says ...string) {
	t.Helper()
	c := d.New(t, newName())
	_, err := acquire(t, c, 1)
	drivertest.WantInvalid(t, "Acquire", err, append(says, fmt.Sprintf("accept the risk %q", risk))...)
	accepts := *d
	accepts.Accept = append([]string{risk}, d.Accept...)
	c = accepts.New(t, newName())
	mustAcquire(t, c, 1)
}

// Rights checks what a user is told who may not make tables, and one who may not write them. Run
// makes statements by somebody who may, and grants are those that ann lacks.
func Rights(t *testing.T, d *Database, ann Database, run func(script string) error,
	grants ...string,
) {
	c := ann.New(t, newName())
	_, err := acquire(t, c, 1)
	drivertest.WantInvalid(t, "Acquire without the right to make tables", err,
		"CREATE TABLE IF NOT EXISTS unalike_slots", "INTO unalike_format")
	_, script, _ := strings.Cut(err.Error(), "run:\n")
	if err := run(script); err != nil {
		t.Fatal(err)
	}
	_, err = acquire(t, c, 1)
	drivertest.WantInvalid(t, "Acquire without rights on tables", err, "SELECT, INSERT and UPDATE",
		"unalike_")
	d.Do(t, grants...)
	mustRenew(t, c, mustAcquire(t, c, 1))
}

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
		run  func(*Database)
	}{
		{"Missing", Missing},
		{"Undone", Undone},
		{"ComeAgain", ComeAgain},
		{"Edited", Edited},
		{"Format", Format},
		{"Prefix", Prefix},
		{"Stored", Stored},
		{"Dropped", Dropped},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(d.On(t)) })
	}
}

// Format checks that tables are left alone which another version has made.
func Format(d *Database) {
	ns, _, g := d.granted()
	refused := func(start, renewal string, change, undo []string) {
		d.Helper()
		d.Do(change...)
		newcomer := d.New(ns)
		_, err := newcomer.acquire(2)
		drivertest.WantInvalid(d, "Acquire with other tables", err, start, "format 3")
		_, err = newcomer.renew(fresh(g))
		drivertest.WantInvalid(d, "Renew with other tables", err, renewal)
		d.Do(undo...)
	}
	const version = "UPDATE unalike_history SET version = %d WHERE namespace = '*'"
	refused("format 4", "format 4", []string{fmt.Sprintf(version, 4)},
		[]string{fmt.Sprintf(version, 3)})
	const rename = "ALTER TABLE unalike_slots RENAME COLUMN "
	refused("other columns than those of format 3", "format 1",
		[]string{fmt.Sprintf(version, 1), rename + "identity TO gone"},
		[]string{rename + "gone TO identity", fmt.Sprintf(version, 3)})
}

// Prefix checks that namespaces of the same name, or in the same tables, know nothing of each
// other.
func Prefix(d *Database) {
	ns := newName()
	for _, place := range [][2]string{
		{ns, sqlstore.DefaultPrefix}, {newName(), sqlstore.DefaultPrefix}, {ns, "other_"},
	} {
		at := *d
		at.Prefix = place[1]
		c := at.New(place[0])
		g := c.mustAcquire(1)
		if g.Generation != 1 {
			d.Errorf("in a new namespace, %v was granted", g)
		}
	}
	if n := d.Int("SELECT COUNT(*) FROM unalike_slots WHERE namespace = '%s' AND version > 0",
		ns); n != 1 {
		d.Errorf("%d slots of namespace %s were written", n, ns)
	}
}

// Stored checks what is stored, whatever the session: a lease ends by the server's clock, text is
// found as it is, whatever is in it, and people can read who holds what.
func Stored(d *Database) {
	ns := newName()
	c := d.New(ns)
	before, req := time.Now(), drivertest.Request(2)
	req.Identity, req.Holder = `größe 'n" \ 🦆`, `ein "Ωwner" '\`
	g := drivertest.MustAcquire(d, c, req)
	ends := time.UnixMicro(d.Int(
		"SELECT lease_ends FROM unalike_slots WHERE namespace = '%s' AND worker = %d", ns, g.WorkerID))
	if early, latest := before.Add(req.TTL-time.Second),
		time.Now().Add(req.TTL+time.Second); ends.Before(early) || ends.After(latest) {
		d.Errorf("the lease ends at %v; want a time between %v and %v", ends, early, latest)
	}
	slots, err := c.List(drivertest.Within(d))
	if err != nil || len(slots) != 1 || slots[0].Identity != req.Identity ||
		slots[0].Holder != req.Holder {
		d.Fatalf("List: %+v, %v", slots, err)
	}
	wantView := func(worker int, column, want string) {
		d.Helper()
		if s := d.Text("SELECT %s FROM unalike_workers WHERE namespace = '%s' AND worker = %d", column,
			ns, worker); s != want {
			d.Errorf("the %s of worker ID %d is %q; want %q", column, worker, s, want)
		}
	}
	wantView(g.WorkerID, "state", "held")
	wantView(g.WorkerID, "holder", req.Holder)
	if err := c.Release(drivertest.Within(d), g, g.NotBefore); err != nil {
		d.Fatal(err)
	}
	req.Token = newName()
	if again := drivertest.MustAcquire(d, c, req); again.WorkerID != g.WorkerID {
		d.Errorf("the identity had %v, and gets %v", g, again)
	}
	d.expire(d, ns, g.WorkerID)
	wantView(g.WorkerID, "state", "free")
	req.Identity += " " // another one
	req.Token = newName()
	other := drivertest.MustAcquire(d, c, req)
	if other.WorkerID == g.WorkerID {
		d.Errorf("%v was granted to the identity with a space more, which had %v before", other, g)
	}
	if err := c.Retire(drivertest.Within(d), other.WorkerID); err != nil { // it is held
		d.Fatal(err)
	}
	wantView(other.WorkerID, "state", "retired")
}

// OneConnection is for a pool of one connection, which serves many.
func OneConnection(d *Database) {
	c := d.New(newName())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			g, err := c.acquire(drivertest.Capacity)
			if err == nil {
				_, err = c.renew(g)
			}
			if err != nil {
				d.Error(err)
			}
		})
	}
	wg.Wait()
}

// Risk checks that a server which has a risk is refused, unless that is accepted.
func Risk(d *Database, risk string, says ...string) {
	d.Helper()
	c := d.New(newName())
	_, err := c.acquire(1)
	drivertest.WantInvalid(d, "Acquire", err, append(says, fmt.Sprintf("accept the risk %q", risk))...)
	accepts := *d
	accepts.Accept = append([]string{risk}, d.Accept...)
	c = accepts.New(newName())
	c.mustAcquire(1)
}

// Rights checks what a user is told who may not make tables, and one who may not write them. Run
// makes statements by somebody who may, and grants are those that ann lacks.
func Rights(d *Database, ann Database, run func(script string) error,
	grants ...string,
) {
	c := ann.New(newName())
	_, err := c.acquire(1)
	drivertest.WantInvalid(d, "Acquire without the right to make tables", err,
		"CREATE TABLE IF NOT EXISTS unalike_slots", "INTO unalike_history")
	_, script, _ := strings.Cut(err.Error(), "run:\n")
	if err := run(script); err != nil {
		d.Fatal(err)
	}
	_, err = c.acquire(1)
	drivertest.WantInvalid(d, "Acquire without rights on tables", err, "SELECT, INSERT and UPDATE",
		"unalike_")
	d.Do(grants...)
	c.mustRenew(c.mustAcquire(1))
}

package sqltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Standby is a server that has what another one has written.
type Standby struct {
	*Database        // for somebody who may write when it is promoted, and not before
	Cut       func() // it gets no more of what is written
	Promote   func() // the other server is gone, and this one takes its place
}

// Promoted has a standby take the place of a server without what was confirmed last: newcomers
// and holders notice that, those who come from the other server and those who are new, and
// nothing is granted below what may be lost. Before that it refuses writes, which may pass.
func Promoted(t *testing.T, d *Database, s Standby) {
	ns := newName()
	c := d.New(t, ns)
	g := mustAcquire(t, c, 1)
	streamtest.Eventually(t, "the standby has it", func() bool {
		var n int
		err := s.SQL.QueryRowContext(drivertest.Within(t),
			"SELECT COUNT(*) FROM unalike_slots WHERE version > 0").Scan(&n)
		return err == nil && n == 1
	})
	early := s.New(t, ns)
	if r, err := renew(t, early, fresh(g)); err == nil || coord.Permanent(err) {
		t.Errorf("Renew on a standby: %v, %v; want an error that may pass", r, err)
	}

	s.Cut()
	g, err := c.Renew(drivertest.Within(t), g, g.NotAfter+9000)
	if err != nil {
		t.Fatal(err)
	}
	lost := mustAcquire(t, c, 2) // the standby never hears of it
	s.Promote()
	c.Database = s.DB

	newcomer := s.New(t, ns) // first: who knows nothing has the lineage alone to go by
	r, err := acquire(t, newcomer, 2)
	wantQuarantined(t, "Acquire", r, err)
	r, err = renew(t, c, g)
	wantQuarantined(t, "Renew of a holder who was on the other server", r, err)
	stranger := s.New(t, ns)
	r, err = renew(t, stranger, fresh(g))
	wantQuarantined(t, "Renew of a process that was started again", r, err)
	if r, err := renew(t, stranger, fresh(lost)); err == nil && r.NotBefore < lost.NotAfter {
		t.Errorf("Renew of a grant that the standby does not have: %v", r)
	}
	wantLoss(t, newcomer, true)
}

// Server is one whose data folder can be copied.
type Server interface {
	Kill()
	Restart(tb testing.TB)
}

// RolledBack puts a server back to an earlier state of all its files, with the namespace as it
// is: that others have written is noticed, too, because nobody knows what else there was.
func RolledBack(t *testing.T, d *Database, s Server, dir string) {
	backup := filepath.Join(filepath.Dir(dir), "backup")
	_, c, g := granted(t, d)
	seen := func() bool { // the coordinator knows what is written
		_, err := c.Inspect(drivertest.Within(t))
		return err == nil
	}
	copied := func(from, to string) {
		t.Helper()
		s.Kill()
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		proctest.Copy(t, from, to)
		s.Restart(t)
		streamtest.Eventually(t, "all are connected again", func() bool {
			return seen() && d.SQL.PingContext(t.Context()) == nil
		})
	}
	copied(dir, backup)
	d.Exec(t, "CREATE TABLE others (n int)")
	for range 20 {
		d.Exec(t, "INSERT INTO others VALUES (1)")
	}
	if !seen() {
		t.Fatal("the server is away")
	}
	copied(backup, dir)
	r, err := renew(t, c, g)
	wantQuarantined(t, "Renew after a server was put back", r, err)
}

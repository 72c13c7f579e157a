package sqltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
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
func Promoted(d *Database, s Standby) {
	ns := newName()
	c := d.New(ns)
	g := c.mustAcquire(1)
	streamtest.Eventually(d, "the standby has it", func() bool {
		var n int
		err := s.SQL.QueryRowContext(drivertest.Within(d),
			"SELECT COUNT(*) FROM unalike_slots WHERE version > 0").Scan(&n)
		return err == nil && n == 1
	})
	early := s.New(ns)
	if r, err := early.renew(fresh(g)); err == nil || coord.Permanent(err) {
		d.Errorf("Renew on a standby: %v, %v; want an error that may pass", r, err)
	}

	s.Cut()
	g, err := c.Renew(drivertest.Within(d), g, g.NotAfter+9000)
	if err != nil {
		d.Fatal(err)
	}
	lost := c.mustAcquire(2) // the standby never hears of it
	s.Promote()
	c.Database = s.DB

	newcomer := s.New(ns) // first: who knows nothing has the lineage alone to go by
	r, err := newcomer.acquire(2)
	d.wantQuarantined("Acquire", r, err)
	r, err = c.renew(g)
	d.wantQuarantined("Renew of a holder who was on the other server", r, err)
	stranger := s.New(ns)
	r, err = stranger.renew(fresh(g))
	d.wantQuarantined("Renew of a process that was started again", r, err)
	if r, err := stranger.renew(fresh(lost)); err == nil && r.NotBefore < lost.NotAfter {
		safetytest.Of(d).Errorf("Renew of a grant that the standby does not have: %v", r)
	}
	newcomer.wantLoss(true)
}

// Server is one whose data folder can be copied.
type Server interface {
	Kill()
	Restart(tb testing.TB)
}

// RolledBack puts a server back to an earlier state of all its files, with the namespace as it
// is: that others have written is noticed, too, because nobody knows what else there was.
func RolledBack(d *Database, s Server, dir string) {
	backup := filepath.Join(filepath.Dir(dir), "backup")
	_, c, g := d.granted()
	seen := func() bool { // the coordinator knows what is written
		_, err := c.Inspect(drivertest.Within(d))
		return err == nil
	}
	copied := func(from, to string) {
		d.Helper()
		s.Kill()
		if err := os.RemoveAll(to); err != nil {
			d.Fatal(err)
		}
		proctest.Copy(d, from, to)
		s.Restart(d)
		streamtest.Eventually(d, "all are connected again", func() bool {
			return seen() && d.SQL.PingContext(d.Context()) == nil
		})
	}
	copied(dir, backup)
	d.Exec("CREATE TABLE others (n int)")
	for range 20 {
		d.Exec("INSERT INTO others VALUES (1)")
	}
	if !seen() {
		d.Fatal("the server is away")
	}
	copied(backup, dir)
	r, err := c.renew(g)
	d.wantQuarantined("Renew after a server was put back", r, err)
}

package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
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
	t.Helper()
	ns := newName()
	c, link := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	streamtest.Eventually(t, "the standby has it", func() bool {
		var n int
		err := s.SQL.QueryRowContext(drivertest.Within(t),
			"SELECT COUNT(*) FROM unalike_slots WHERE version > 0").Scan(&n)
		return err == nil && n == 1
	})
	early, _ := s.New(t, ns)
	if r, err := early.Renew(drivertest.Within(t), fresh(g), g.NotAfter+1000); err == nil ||
		coord.Permanent(err) {
		t.Errorf("Renew on a standby: %v, %v; want an error that may pass", r, err)
	}

	s.Cut()
	g, err := c.Renew(drivertest.Within(t), g, g.NotAfter+9000)
	if err != nil {
		t.Fatal(err)
	}
	lost := drivertest.MustAcquire(t, c, drivertest.Request(2)) // the standby never hears of it
	s.Promote()
	link.To(s.DB)

	newcomer, _ := s.New(t, ns) // first: who knows nothing has the lineage alone to go by
	r, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(2))
	wantQuarantined(t, "Acquire", r, err)
	r, err = c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
	wantQuarantined(t, "Renew of a holder who was on the other server", r, err)
	stranger, _ := s.New(t, ns)
	r, err = stranger.Renew(drivertest.Within(t), fresh(g), g.NotAfter+1000)
	wantQuarantined(t, "Renew of a process that was started again", r, err)
	if r, err := stranger.Renew(drivertest.Within(t), fresh(lost), lost.NotAfter+1000); err == nil &&
		r.NotBefore < lost.NotAfter {
		t.Errorf("Renew of a grant that the standby does not have: %v", r)
	}
	if n, err := newcomer.Inspect(drivertest.Within(t)); err != nil || n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want a loss on record", n, err)
	}
}

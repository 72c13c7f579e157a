package mysql

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestReadOnly: a replica is written by nobody, also not by a user whom it would let: others
// write to the primary meanwhile.
func TestReadOnly(t *testing.T) {
	d := database(t, mysqltest.Start(t), "")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	before := d.Text("SELECT record FROM unalike_slots WHERE worker = %d", g.WorkerID)
	d.Exec("SET GLOBAL read_only = 1")
	wants := func(what string, err error) {
		t.Helper()
		if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s on a server that is read-only: %v; want an error that may pass", what, err)
		}
	}
	_, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
	wants("Renew", err)
	newcomer := d.New("ns")
	_, err = newcomer.Acquire(drivertest.Within(t), drivertest.Request(2))
	wants("Acquire", err)
	if after := d.Text("SELECT record FROM unalike_slots WHERE worker = %d",
		g.WorkerID); after != before {
		safetytest.Of(t).Errorf("the slot was %s and is %s", before, after)
	}
	d.Exec("SET GLOBAL read_only = 0")
	if _, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil {
		t.Error(err)
	}
}

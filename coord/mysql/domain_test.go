package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestOtherServers: what another server of a ring has written may have lower numbers than what
// this one has. Nothing is lost by that.
func TestOtherServers(t *testing.T) {
	d := database(t, mysqltest.Start(t, "--log-bin", "--sync-binlog=1", "--server-id=1"), "")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	ring, err := d.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	for _, s := range []string{
		"SET SESSION server_id = 9", "SET SESSION gtid_seq_no = 1",
		"CREATE TABLE ring (n int)",
	} {
		if _, err := ring.ExecContext(drivertest.Within(t), s); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil ||
		r.NotAfter != g.NotAfter+1000 {
		t.Errorf("Renew: %v, %v", r, err)
	}
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || !n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want no loss", n, err)
	}
}

package sqltest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Server is one whose data folder can be copied.
type Server interface {
	Kill()
	Restart(tb testing.TB)
}

// RolledBack puts a server back to an earlier state of all its files, with the namespace as it
// is: that others have written is noticed, too, because nobody knows what else there was.
func RolledBack(t *testing.T, d *Database, s Server, dir string) {
	t.Helper()
	ns, backup := newName(), filepath.Join(filepath.Dir(dir), "backup")
	c, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	copied := func(from, to string) {
		t.Helper()
		s.Kill()
		if out, err := exec.Command("rm", "-rf", to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s.Restart(t)
		streamtest.Eventually(t, "the server is back", func() bool {
			return d.SQL.PingContext(t.Context()) == nil
		})
	}
	copied(dir, backup)
	d.Exec(t, "CREATE TABLE others (n int)")
	for range 20 {
		d.Exec(t, "INSERT INTO others VALUES (1)")
	}
	streamtest.Eventually(t, "the coordinator is connected again", func() bool {
		_, err := c.Inspect(drivertest.Within(t))
		return err == nil
	})
	copied(backup, dir)
	err := error(nil)
	streamtest.Eventually(t, "the coordinator is connected again", func() bool {
		_, err = c.Inspect(drivertest.Within(t))
		return err == nil
	})
	r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
	wantQuarantined(t, "Renew after a server was put back", r, err)
}

package backend_test

import (
	"testing"

	"github.com/unalike-id/unalike/faults/backend"
)

// What the standby, or the replica, lacks is lost with the primary.
func TestStandby(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, r backend.Replicated) {
		exec := b.(backend.Tables).Exec
		rows := func() int64 { return exec(t, "UPDATE kept SET n = n + 10") }
		first := r.Leader(t)
		exec(t, "CREATE TABLE kept AS SELECT 1 AS n")
		r.Detach(t)
		exec(t, "INSERT INTO kept VALUES (2)")
		r.Failover(t)
		if r.Leader(t) == first || rows() != 1 {
			t.Errorf("the primary is the old one: %v; it has %d rows, of which one was replicated", r.Leader(t) == first, rows())
		}
		serves(t, b)
		second := r.Leader(t)
		b.Restart(t)
		r.Detach(t)
		exec(t, "INSERT INTO kept VALUES (3)")
		r.SwitchOver(t)
		r.SwitchOver(t)
		if r.Leader(t) != second || rows() != 1 {
			t.Errorf("after a change and back, the primary is the same: %v; it has %d rows, of which one was replicated", r.Leader(t) == second, rows())
		}
		serves(t, b)
	}, "postgres-standby", "mariadb-replica")
}

//go:build unix

package postgres

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

func TestDelayedReturn(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.DelayedReturn(t, database(s, p))
}
func TestChanged(t *testing.T) { s, p := start(t); sqlsegmenttest.Changed(t, database(s, p)) }

// TestFaults does to a server what happens to one.
func TestFaults(t *testing.T) {
	s, pool := start(t)
	d := database(s, pool)
	t.Run("round trips", func(t *testing.T) { sqlsegmenttest.OneRoundTrip(t, d) })
	t.Run("lost replies", func(t *testing.T) { sqlsegmenttest.LostReplies(t, d) })
	t.Run("set back", func(t *testing.T) { sqlsegmenttest.SetBack(t, d) })
	t.Run("frozen", func(t *testing.T) { sqlsegmenttest.Frozen(t, d, s) })
	t.Run("races", func(t *testing.T) { sqlsegmenttest.Races(t, d) })
	exec(t, pool, "DROP TRIGGER race ON leaf_alloc")
	t.Run("killed", func(t *testing.T) { sqlsegmenttest.Killed(t, d, s, fulltest.Rounds(2, 50)) }) // the last one: the server ends with it
}

// TestPromoted: a standby takes over without the last ranges.
func TestPromoted(t *testing.T) {
	s, pool := start(t)
	var standby *pgtest.Server
	sqlsegmenttest.Promoted(t, database(s, pool), func() {
		standby = s.Standby(t)
		standby.Kill() // it hears of nothing more
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		standby.Restart(t)
		there := connect(t, standby.URL())
		streamtest.Eventually(t, "it is promoted", func() bool {
			_, err := there.ExecContext(within(t), "SELECT pg_promote()")
			return err == nil
		})
		return database(standby, there)
	})
}

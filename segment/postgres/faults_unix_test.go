//go:build unix

package postgres

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

func TestOneRoundTrip(t *testing.T) { s, p := start(t); sqlsegmenttest.OneRoundTrip(t, database(s, p)) }
func TestDelayedReturn(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.DelayedReturn(t, database(s, p))
}
func TestLostReplies(t *testing.T) { s, p := start(t); sqlsegmenttest.LostReplies(t, database(s, p)) }
func TestRaces(t *testing.T)       { s, p := start(t); sqlsegmenttest.Races(t, database(s, p)) }
func TestChanged(t *testing.T)     { s, p := start(t); sqlsegmenttest.Changed(t, database(s, p)) }
func TestFrozen(t *testing.T)      { s, p := start(t); sqlsegmenttest.Frozen(t, database(s, p), s) }

func TestKilled(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.Killed(t, database(s, p), s, fulltest.Rounds(2, 50))
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

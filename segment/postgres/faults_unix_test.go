//go:build unix

package postgres

import (
	"database/sql"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

func TestDelayedReturn(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.DelayedReturn(t, database(s, p))
}

func TestTwoRows(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.TwoRows(t, database(s, p), "ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey")
}

func TestDamaged(t *testing.T) {
	s, p := start(t)
	sqlsegmenttest.Damaged(t, database(s, p), "ALTER TABLE leaf_alloc ALTER max_id DROP NOT NULL")
}

func TestChanged(t *testing.T) { s, p := start(t); sqlsegmenttest.Changed(t, database(s, p)) }

func TestFaults(t *testing.T) { s, p := start(t); sqlsegmenttest.Faults(t, database(s, p), s) }

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

// TestFailovers: two servers take over from each other.
func TestFailovers(t *testing.T) {
	t.Parallel()
	first, pool := start(t)
	follower := first.Standby(t)
	at := map[*pgtest.Server]*sql.DB{first: pool, follower: connect(t, follower.URL())}
	sqlsegmenttest.Failovers(t, database(first, pool), sqlsegmenttest.Pair{
		Cut: func() {
			sqlsegmenttest.CaughtUp(t, at[first], at[follower])
			follower.Kill() // it hears of nothing more
		},
		Promote: func() *sqlsegmenttest.Database {
			first.Kill()
			follower.Restart(t)
			first, follower = follower, first
			streamtest.Eventually(t, "it is promoted", func() bool {
				_, err := at[first].ExecContext(within(t), "SELECT pg_promote()")
				return err == nil
			})
			return database(first, at[first])
		},
		Rejoin: func() { follower.Follow(t, first) },
	})
}

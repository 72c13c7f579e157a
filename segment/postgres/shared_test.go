package postgres

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestShared: what databases share.
func TestShared(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Run(t, s.Database)
}

// TestPromoted: a standby takes over without the last ranges.
func TestPromoted(t *testing.T) {
	s := start(t)
	var standby *pgtest.Server
	s.Promoted(func() {
		standby = s.Standby(t)
		standby.Kill() // it hears of nothing more
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		standby.Restart(t)
		there := database(t, standby)
		streamtest.Eventually(t, "it is promoted", func() bool {
			_, err := there.SQL.ExecContext(t.Context(), "SELECT pg_promote()")
			return err == nil
		})
		return there
	})
}

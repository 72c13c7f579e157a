package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestShared: what databases share.
func TestShared(t *testing.T) {
	s := start(t)
	sqlsegmenttest.Run(t, s.Database)
}

// TestPromoted: a replica takes over without the last ranges.
func TestPromoted(t *testing.T) {
	args := []string{"--log-bin", "--sync-binlog=1", "--log-slave-updates"}
	s := start(t, append(args, "--server-id=1")...)
	replica := s.Replica(t, append(args, "--server-id=2")...)
	there := database(t, replica)
	s.Promoted(func() {
		streamtest.Eventually(t, "the replica has the tag", func() bool {
			var n int
			err := there.SQL.QueryRowContext(t.Context(), "SELECT MAX(max_id) FROM leaf_alloc").Scan(&n)
			return err == nil && n > 1
		})
		there.Do("STOP SLAVE")
	}, func() *sqlsegmenttest.Database {
		s.Kill()
		there.Do("RESET SLAVE ALL")
		return there
	})
}

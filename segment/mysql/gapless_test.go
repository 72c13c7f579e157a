package mysql

import (
	"database/sql"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
)

// TestGapless: numbers that are rolled back are taken again, and LAST_INSERT_ID stays as it was.
func TestGapless(t *testing.T) {
	s := start(t)
	st := s.with("")
	levels := map[string]sql.IsolationLevel{
		"READ COMMITTED": sql.LevelReadCommitted, "REPEATABLE READ": sql.LevelRepeatableRead,
	}
	sqlsegmenttest.Gapless(t, s.Database, func(level string) (
		func(string) (int64, error), func(string) error, func(bool) error,
	) {
		tx, err := s.SQL.BeginTx(t.Context(), &sql.TxOptions{Isolation: levels[level]})
		if err != nil {
			t.Fatal(err)
		}
		var before, after int64
		const last = "SELECT LAST_INSERT_ID()"
		return func(tag string) (int64, error) {
				if err := tx.QueryRowContext(t.Context(), last).Scan(&before); err != nil {
					return 0, err
				}
				n, err := st.Gapless(s.Within(), tx, tag)
				if err == nil {
					err = tx.QueryRowContext(t.Context(), last).Scan(&after)
				}
				if before != after {
					t.Errorf("LAST_INSERT_ID was %d and is %d", before, after)
				}
				return n, err
			}, func(statement string) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			}, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}
	})
}

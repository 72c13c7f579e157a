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
	sqlsegmenttest.Gapless(t, s.Database, func(level string) sqlsegmenttest.Transaction {
		tx, err := s.SQL.BeginTx(t.Context(), &sql.TxOptions{Isolation: levels[level]})
		if err != nil {
			t.Fatal(err)
		}
		last := func() (id int64) {
			if err := tx.QueryRowContext(t.Context(), "SELECT LAST_INSERT_ID()").Scan(&id); err != nil {
				t.Error(err)
			}
			return id
		}
		return sqlsegmenttest.Transaction{
			Number: func(tag string) (int64, error) {
				before := last()
				n, err := st.Gapless(s.Within(), tx, tag)
				if after := last(); before != after {
					t.Errorf("LAST_INSERT_ID was %d and is %d", before, after)
				}
				return n, err
			},
			Do: func(statement string) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			},
			End: func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			},
		}
	})
}

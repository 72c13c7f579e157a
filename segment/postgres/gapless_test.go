package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/segment"
)

// TestGapless: numbers that are rolled back are taken again, and none behind a savepoint.
func TestGapless(t *testing.T) {
	s := start(t)
	st := s.with("")
	pool, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	begin := func(level string) pgx.Tx {
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	sqlsegmenttest.Gapless(t, s.Database, func(level string) sqlsegmenttest.Transaction {
		tx := begin(level)
		return sqlsegmenttest.Transaction{
			Number: func(tag string) (int64, error) { return st.Gapless(s.Within(), tx, tag) },
			Do: func(statement string) error {
				_, err := tx.Exec(t.Context(), statement)
				return err
			},
			End: func(commit bool) error {
				if commit {
					return tx.Commit(t.Context())
				}
				return tx.Rollback(t.Context())
			},
		}
	})
	s.Do("UPDATE unalike_meta SET identity = 'elsewhere', stamp = stamp + 1 WHERE name = 'leaf_alloc'")
	next := s.Next("dense")
	skipping, tx := openStore(t, s.URL(), Options{Skip: 1000}), begin("READ COMMITTED")
	_, err = skipping.Gapless(t.Context(), tx, "dense") // it cannot raise what tx has locked
	s.WantErr("Gapless on another server", err, context.DeadlineExceeded, "")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	s.WantTake(skipping, "dense", next+1000)
	tx = begin("READ COMMITTED")
	nested, err := tx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Gapless(s.Within(), nested, "dense")
	s.WantErr("behind a savepoint", err, segment.ErrInvalidConfig, "savepoint")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Gapless takes the next number of a tag within a transaction of the caller's, for numbers that
// must not leave out any, such as those of invoices: if the transaction is rolled back, so is the
// number. Other callers that want a number of the tag wait until the transaction ends, so take it
// last. Nothing is taken ahead, and a [segment.Sequence] may use the tag at the same time.
//
// Ctx bounds the wait. Errors are those of [segment.Store], and wrap [segment.ErrInvalidConfig]
// behind a savepoint; after an error the transaction must be rolled back. With REPEATABLE READ and
// SERIALIZABLE the database refuses a number (SQLSTATE 40001) if another program has taken one of
// the tag since the transaction began, or has raised the minutes of unalike_meta, which happens
// once a minute: roll back and repeat the transaction.
func (s *Store) Gapless(ctx context.Context, tx pgx.Tx, tag string) (int64, error) {
	return s.Store.Gapless(ctx, tag, func(ctx context.Context, text string) ([][]string, error) {
		rows, err := tx.Query(ctx, text, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (cols []string, _ error) {
			for _, value := range row.RawValues() {
				cols = append(cols, string(value))
			}
			return cols, nil
		})
	})
}

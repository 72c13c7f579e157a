package mysql

import (
	"context"
	"database/sql"

	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
)

// Gapless takes the next number of a tag within a transaction of the caller's, for numbers that
// must not leave out any, such as those of invoices: if the transaction is rolled back, so is the
// number. Other callers that want a number of the tag wait until the transaction ends, so take it
// last. Nothing is taken ahead, and a [segment.Sequence] may use the tag at the same time.
//
// Ctx bounds the wait. Errors are those of [segment.Store]; after one the transaction must be
// rolled back. Do not roll back to a savepoint that is older than the number and go on: the number
// would be taken again.
func (s *Store) Gapless(ctx context.Context, tx *sql.Tx, tag string) (int64, error) {
	return s.Store.Gapless(ctx, tag, func(ctx context.Context, text string) ([][]string, error) {
		rows, err := tx.QueryContext(ctx, text)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		all, _, err := mysqldb.Table(rows)
		return all, err
	})
}

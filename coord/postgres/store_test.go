package postgres

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(context.Background(), pgtest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	storetest.Run(t, func(testing.TB) storetest.Harness {
		ns := rand.Text()
		o := sqlstore.Options{Prefix: DefaultPrefix, Accept: []string{"fsync"}, Logger: slog.New(slog.DiscardHandler)}
		return storetest.Harness{
			Store: sqlstore.NewStore(&db{pool}, dialect(), ns, o),
			Count: func(tb testing.TB) (n int) {
				tb.Helper()
				for _, table := range []string{"unalike_namespaces", "unalike_slots"} {
					var rows int
					if err := pool.QueryRow(context.Background(), "SELECT COUNT(*) FROM "+table+" WHERE namespace = $1", ns).Scan(&rows); err != nil {
						tb.Fatal(err)
					}
					n += rows
				}
				return n
			},
			Expire: func(tb testing.TB, worker int) {
				tb.Helper()
				if _, err := pool.Exec(context.Background(), "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = $1 AND worker = $2", ns, worker); err != nil {
					tb.Fatal(err)
				}
			},
		}
	})
}

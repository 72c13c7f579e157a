package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	t.Parallel()
	pool, err := sql.Open("mysql", mysqltest.Start(t, "--log-bin", "--sync-binlog=1").DSN("?multiStatements=true"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	storetest.Run(t, func(testing.TB) storetest.Harness {
		ns := rand.Text()
		return storetest.Harness{
			Store: sqlstore.NewStore(&db{pool: pool}, dialect(), ns, sqlstore.Options{Prefix: DefaultPrefix, Logger: slog.New(slog.DiscardHandler)}),
			Count: func(tb testing.TB) (n int) {
				tb.Helper()
				for _, table := range []string{"unalike_namespaces", "unalike_slots"} {
					var rows int
					if err := pool.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+table+" WHERE namespace = ?", ns).Scan(&rows); err != nil {
						tb.Fatal(err)
					}
					n += rows
				}
				return n
			},
			Expire: func(tb testing.TB, worker int) {
				tb.Helper()
				if _, err := pool.ExecContext(context.Background(), "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = ? AND worker = ?", ns, worker); err != nil {
					tb.Fatal(err)
				}
			},
		}
	})
}

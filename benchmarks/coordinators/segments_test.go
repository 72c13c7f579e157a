package coordinators

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/mysql"
)

// BenchmarkTake is the time of a range from MariaDB behind a relay of a millisecond, beside the
// same with Leaf's statements.
func BenchmarkTake(b *testing.B) {
	server := mysqltest.Start(b)
	p := proxytest.Start(b, server.Addr())
	pool, err := sql.Open("mysql", mysqltest.User+":"+mysqltest.Password+"@tcp("+p.Addr+")/"+
		mysqltest.Database+"?interpolateParams=true&multiStatements=true")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pool.Close() })
	ctx := context.Background()
	if _, err := pool.ExecContext(ctx, mysql.Schema("")); err != nil {
		b.Fatal(err)
	}
	s, err := mysql.New(pool, mysql.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Create(ctx, segment.Tag{Name: "t", Next: 1, Step: 1000}); err != nil {
		b.Fatal(err)
	}
	p.Delay(time.Millisecond)
	b.Run("gen=unalike", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Take(ctx, "t", 1000); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gen=leaf", func(b *testing.B) {
		for b.Loop() {
			if err := leaf(ctx, pool); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// leaf takes a range as Leaf does.
func leaf(ctx context.Context, pool *sql.DB) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?",
		"t"); err != nil {
		return err
	}
	var tag string
	var maxID, step int64
	if err := tx.QueryRowContext(ctx, "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?",
		"t").Scan(&tag, &maxID, &step); err != nil {
		return err
	}
	return tx.Commit()
}

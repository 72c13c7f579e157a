package sqlsegmenttest

import (
	"context"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
)

// Storm has processes take numbers while everything fails, beside Leaf. URL is that of the store on
// the server at an address, and restart kills the server and starts it again.
func Storm(t *testing.T, d *Database, url func(addr string) string, restart func()) {
	numbertest.Storm{
		Addr: d.Addr, URL: url, Restart: restart,
		Lock: func(tag string) func() {
			tx, err := d.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), "UPDATE leaf_alloc SET step = step WHERE biz_tag = '"+
					tag+"'")
			}
			if err != nil {
				t.Error(err)
			}
			return func() { _ = tx.Rollback() }
		},
		Foreign: func(tag string) (r segment.Range, err error) {
			tx, err := d.SQL.BeginTx(t.Context(), nil)
			if err != nil {
				return r, err
			}
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(),
				"UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = '"+tag+"'")
			if err != nil {
				return r, err
			}
			var next, step int64
			err = tx.QueryRowContext(t.Context(),
				"SELECT max_id, step FROM leaf_alloc WHERE biz_tag = '"+tag+"'").Scan(&next, &step)
			if err != nil {
				return r, err
			}
			return segment.Range{First: next - step, Last: next - 1}, tx.Commit()
		},
	}.Run(t, d.Store())
}

package sqlsegmenttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
)

// TwoRows makes a second row of a tag, in a table whose key was dropped: which of them a range is of is not known, so none is handed out.
func TwoRows(t *testing.T, d *Database, dropKey string) {
	s := d.create(t, "two", 10)
	wantTake(t, s, "two", 1)
	d.Exec(t, dropKey)
	d.Exec(t, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('two', 1, 10)")
	if r, err := s.Take(within(t), "two", 10); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "2 rows") {
		t.Errorf("of one of two rows: %v, %v", r, err)
	}
}

// Damaged damages rows, in a table whose max_id may be NULL.
func Damaged(t *testing.T, d *Database, nullable string) {
	d.Exec(t, nullable)
	set := func(column string) func(testing.TB, string, int64) {
		return func(tb testing.TB, tag string, n int64) {
			tb.Helper()
			d.Exec(tb, fmt.Sprintf("UPDATE leaf_alloc SET %s = %d WHERE biz_tag = '%s'", column, n, tag))
		}
	}
	damage := numbertest.Damage{
		Next: set("max_id"), Step: set("step"),
		Unreadable: func(tb testing.TB, tag string) {
			tb.Helper()
			d.Exec(tb, "UPDATE leaf_alloc SET max_id = NULL WHERE biz_tag = '"+tag+"'")
		},
		Says: `tag "nothing": max_id in table leaf_alloc is NULL; a whole number from 0 to`,
		Read: func(tb testing.TB, tag string) (n int64) {
			tb.Helper()
			if err := d.SQL.QueryRowContext(within(tb), "SELECT max_id FROM leaf_alloc WHERE biz_tag = '"+tag+"'").Scan(&n); err != nil {
				tb.Fatal(err)
			}
			return n
		},
	}
	numbertest.Damaged(t, d.Open(t, &Wire{}, 0), damage)
	// What is skipped after a failover does not hide what is wrong.
	d.Exec(t, "UPDATE leaf_alloc SET max_id = -5 WHERE biz_tag = 'negative'")
	d.Exec(t, "UPDATE unalike_meta SET identity = 'elsewhere', stamp = stamp + 1")
	s := d.Open(t, &Wire{}, 5000)
	if _, err := s.Take(within(t), "whole", 10); err != nil {
		t.Error(err)
	}
	if r, err := s.Take(within(t), "negative", 10); !errors.Is(err, segment.ErrInvalidConfig) || damage.Read(t, "negative") != -5 {
		t.Errorf("Take of a negative number after a failover: %v, %v", r, err)
	}
}

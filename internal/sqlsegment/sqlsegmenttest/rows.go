package sqlsegmenttest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
)

// twoRows makes a second row of a tag, in a table whose key was dropped: which of them a range is
// of is not known, so none is handed out.
func twoRows(t *testing.T, d *Database) {
	s := d.Create(t, "two", 1)
	WantTake(t, s, "two", 1)
	d.Do(t, d.DropKey, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('two', 1, 10)")
	WantRefused(t, s, "two", segment.ErrInvalidConfig, "2 rows")
}

// damaged damages rows.
func damaged(t *testing.T, d *Database) {
	d.Do(t, d.Nullable)
	set := func(column string) func(testing.TB, string, int64) {
		return func(tb testing.TB, tag string, n int64) {
			tb.Helper()
			d.Do(tb, fmt.Sprintf("UPDATE leaf_alloc SET %s = %d WHERE biz_tag = '%s'", column, n, tag))
		}
	}
	numbertest.Damaged(t, d.Store(t), numbertest.Damage{
		Next: set("max_id"), Step: set("step"), Read: d.Next,
		Unreadable: func(tb testing.TB, tag string) {
			tb.Helper()
			d.Do(tb, "UPDATE leaf_alloc SET max_id = NULL WHERE biz_tag = '"+tag+"'")
		},
		Says: `tag "nothing": max_id in table leaf_alloc is NULL; a whole number from 0 to`,
	})
	// What is skipped after a failover does not hide what is wrong.
	set("max_id")(t, "negative", -5)
	d.Do(t, away)
	s := d.Open(t, d.Addr, 5000)
	if err := take(Within(t), s, "whole", 10); err != nil {
		t.Error(err)
	}
	WantRefused(t, s, "negative", segment.ErrInvalidConfig, "")
	if n := d.Next(t, "negative"); n != -5 {
		t.Errorf("a negative number became %d after a failover", n)
	}
}

// Bound has columns of some types, each with the largest number that it holds: the last number
// below that is handed out, nothing is clamped, and a wider column is noticed.
func Bound(t *testing.T, d *Database, open func(testing.TB) Store, bounds map[string]int64) {
	for kind, bound := range bounds {
		d.Do(t, "DELETE FROM leaf_alloc", d.Retype+kind)
		s := open(t)
		for next, want := range map[int64]error{bound + 1: segment.ErrInvalidConfig, bound - 15: nil} {
			tag := segment.Tag{Name: "a", Next: next, Step: 10}
			if err := s.Create(Within(t), tag); !errors.Is(err, want) {
				t.Errorf("%s: Create at %d: %v", kind, next, err)
			}
		}
		WantTake(t, s, "a", bound-15)
		r, err := s.Take(Within(t), "a", 10)
		if err != nil || r != (segment.Range{First: bound - 5, Last: bound - 1}) {
			t.Errorf("%s: the last range is %v, %v", kind, r, err)
		}
		for _, step := range []int64{0, 1, 10} {
			WantErr(t, kind+" that is full", take(Within(t), s, "a", step), segment.ErrExhausted, "")
		}
		if bound < math.MaxInt64 {
			d.Do(t, d.Retype+"bigint")
			WantTake(t, s, "a", bound)
		}
	}
}

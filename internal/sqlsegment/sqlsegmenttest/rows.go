package sqlsegmenttest

import (
	"errors"
	"fmt"
	"math"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
)

// returned has two programs give back numbers that they have taken by turns: the row goes down to
// where it was, which is no reason to refuse.
func returned(d *Database) {
	a, b := d.Create("returned", 1), d.Store()
	for _, s := range []Store{a, b, a} {
		if err := take(d.Within(), s, "returned", 1); err != nil {
			d.Fatal(err)
		}
	}
	d.WantBack(a, "returned", 3, 3)
	d.WantBack(b, "returned", 2, 2)
	d.WantBack(a, "returned", 1, 1)
	d.WantTake(a, "returned", 1)
	d.WantTake(b, "returned", 11)
}

// twoRows makes a second row of a tag, in a table whose key was dropped: which of them a range is
// of is not known, so none is handed out.
func twoRows(d *Database) {
	s := d.Create("two", 1)
	d.WantTake(s, "two", 1)
	d.Do(d.DropKey, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('two', 1, 10)")
	d.WantRefused(s, "two", segment.ErrDamaged, "2 rows")
}

// damaged damages rows.
func damaged(d *Database) {
	d.Do(d.Nullable)
	set := func(column string) func(string, int64) {
		return func(tag string, n int64) {
			d.Do(fmt.Sprintf("UPDATE leaf_alloc SET %s = %d WHERE biz_tag = '%s'", column, n, tag))
		}
	}
	numbertest.Damaged(d, d.Store(), numbertest.Damage{
		Next: set("max_id"), Step: set("step"), Read: d.Next,
		Unreadable: func(tag string) {
			d.Do("UPDATE leaf_alloc SET max_id = NULL WHERE biz_tag = '" + tag + "'")
		},
		Says: `tag "nothing": max_id in table leaf_alloc is NULL; a whole number from 0 to`,
	})
	// What is skipped after a failover does not hide what is wrong.
	set("max_id")("negative", -5)
	d.Do(away)
	s := d.Open(d, d.Addr, 5000)
	if err := take(d.Within(), s, "whole", 10); err != nil {
		d.Error(err)
	}
	d.WantRefused(s, "negative", segment.ErrDamaged, "")
	if n := d.Next("negative"); n != -5 {
		safetytest.Of(d).Errorf("a negative number became %d after a failover", n)
	}
}

// Bound has columns of some types, each with the largest number that it holds: the last number
// below that is handed out, nothing is clamped, and a wider column is noticed.
func (d *Database) Bound(open func() Store, bounds map[string]int64) {
	for kind, bound := range bounds {
		d.Do("DELETE FROM leaf_alloc", d.Retype+kind)
		s := open()
		for next, want := range map[int64]error{bound + 1: segment.ErrInvalidConfig, bound - 15: nil} {
			tag := segment.Tag{Name: "a", Next: next, Step: 10}
			if err := s.Create(d.Within(), tag); !errors.Is(err, want) {
				d.Errorf("%s: Create at %d: %v", kind, next, err)
			}
		}
		d.WantTake(s, "a", bound-15)
		r, err := s.Take(d.Within(), "a", 10)
		if err != nil || r != (segment.Range{First: bound - 5, Last: bound - 1}) {
			safetytest.Unless(d, err).Errorf("%s: the last range is %v, %v", kind, r, err)
		}
		for _, step := range []int64{0, 1, 10} {
			d.WantErr(kind+" that is full", take(d.Within(), s, "a", step), segment.ErrExhausted, "")
		}
		if bound < math.MaxInt64 {
			d.Do(d.Retype + "bigint")
			d.WantTake(s, "a", bound)
		}
	}
}

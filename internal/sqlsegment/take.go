package sqlsegment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/segment"
)

// tries is the number of attempts to change a row. An attempt that changes nothing, although every
// condition is met, is repeated.
const tries = 10

// Take implements [segment.Store].
func (s *Store) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Step(step, 0)); err != nil {
		return segment.Range{}, err
	}
	var r segment.Range
	err := s.call(ctx, func(ctx context.Context) (err error) {
		if r, err = s.take(ctx, s.commit, tag, step); err == nil {
			s.given.note(tag, r)
		}
		return err
	})
	return r, err
}

// sender runs statements in one transaction and returns the rows of the last one.
type sender func(ctx context.Context, statements []sqldb.Statement) ([][]string, error)

// commit runs statements that may be repeated, and commits them. Once a minute it also raises the
// minutes of the record, unless another transaction has locked them: then a later take does. A
// transaction of the caller must not raise them, because it would keep them locked, and a rollback
// would lower them again.
func (s *Store) commit(ctx context.Context, all []sqldb.Statement) ([][]string, error) {
	if known, _ := s.known(""); time.Since(known.counted) >= time.Minute {
		all = slices.Insert(all, len(all)-1, sqldb.Statement{SQL: s.write("UPDATE {meta} SET stamp = "+
			"stamp + 1 WHERE name = (SELECT name FROM (SELECT name FROM {meta} WHERE name = $MINUTES AND "+
			"stamp = $COUNT LIMIT 1 FOR UPDATE SKIP LOCKED) AS free)", values{"$COUNT": known.minutes})})
	}
	return s.db.Transact(ctx, true, all)
}

// Gapless takes one number of a tag within a transaction of the caller. Run runs one statement in
// that transaction and returns its rows as text. The row of the tag stays locked until the
// transaction ends.
func (s *Store) Gapless(ctx context.Context, tag string,
	run func(ctx context.Context, statement string) ([][]string, error),
) (int64, error) {
	if err := segment.CheckTag(tag); err != nil {
		return 0, err
	}
	var r segment.Range
	err := s.once(ctx, func(ctx context.Context) (err error) {
		within := func(ctx context.Context, all []sqldb.Statement) (rows [][]string, err error) {
			for _, one := range all {
				if rows, err = run(ctx, one.SQL); err != nil {
					break
				}
			}
			return rows, err
		}
		if held := s.dialect.Held; held != "" {
			if _, err = run(ctx, s.write(held, nil)); err != nil {
				return err
			}
		}
		if r, err = s.take(ctx, within, tag, 1); err != nil || s.dialect.Nested == "" {
			return err
		}
		rows, err := run(ctx, s.write(s.dialect.Nested, values{"$TAG": tag}))
		if err == nil && (len(rows) != 1 || rows[0][0] != "f") { //mutant:sql-gapless-nested
			err = invalid("tag %q: a number without gaps cannot be taken behind a savepoint, "+
				"which may be rolled back alone; take it before", tag)
		}
		return err
	})
	return r.First, err
}

func (s *Store) take(ctx context.Context, send sender, tag string,
	step int64,
) (segment.Range, error) {
	for range tries {
		floor := s.given.floor(tag)
		var size any = expression("step")
		if step > 0 {
			size = step
		}
		r, taken, err := s.change(ctx, send, tag, "{was} + $SIZE",
			"max_id BETWEEN $LOW AND $BOUND - $SIZE AND $SIZE BETWEEN 1 AND $MOST", values{
				"$SIZE": size, "$LOW": floor.next, "$BOUND": s.bound.Load(),
				"$MOST": int64(segment.MaxStep),
			})
		if taken {
			return segment.Range{First: r.was, Last: r.next - 1}, nil
		}
		if err == nil { // a transaction of the caller may have read an old row
			r, err = s.read(ctx, tag)
		}
		if err == nil {
			err = s.why(ctx, tag, r, floor)
		}
		if step == 0 && err == nil {
			step, err = r.step, r.stepDamage
		}
		if err != nil {
			return segment.Range{}, err
		}
		step = min(step, s.bound.Load()-r.next)
	}
	return segment.Range{}, s.altered(tag)
}

// forever is the number of microseconds that a statement may wait if its call has no deadline.
const forever = int64(24 * time.Hour / time.Microsecond)

// change sets the next number of a tag to an expression of the old one, {was}, and reads the row
// back, all in one message and one transaction. It changes nothing unless the condition where holds
// and the record is still the one that this store has found right. The row is locked first: a value
// that was read before the lock was granted may be old. If the database has stored another number,
// the transaction is rolled back.
func (s *Store) change(ctx context.Context, send sender, tag, set, where string, v values,
) (r row, done bool, err error) {
	known, newest := s.known(tag)
	v["$TAG"], v["$HERE"], v["$STAMP"], v["$COUNT"] = tag, known.identity, known.stamp, known.minutes
	if s.same(known.mark, s.group) { // the record names servers of the group
		v["$HERE"] = s.group
	}
	if _, any := v["$OWN"]; !any {
		v["$OWN"] = newest
	}
	v["$WAIT"] = forever
	if end, ends := ctx.Deadline(); ends {
		v["$WAIT"] = max(0, time.Until(end).Microseconds())
	}
	script := []string{
		s.dialect.Lock, "UPDATE {table} SET max_id = " + set + "{updates} WHERE biz_tag = $TAG AND " +
			"max_id = {was} AND " + where + " AND NOT ({unsafe}) AND " + s.dialect.Prompt +
			" AND {identity} = $HERE AND (SELECT stamp FROM {meta} WHERE " +
			"name = $ALL) = $STAMP AND " + //mutant:sql-segment-record
			"(SELECT stamp FROM {meta} WHERE name = $MINUTES) >= $COUNT AND " +
			"COALESCE((SELECT stamp FROM {meta} WHERE name = {key}), 0) <= $OWN",
		s.reading(set),
	}
	for i, text := range script {
		script[i] = s.write(text, v)
	}
	rows, err := send(ctx, statements(script))
	if s.db.Class(err) == sqldb.Mismatch {
		if _, read := s.read(ctx, tag); read != nil {
			return r, false, read
		}
		return r, false, fmt.Errorf("%w (%w)", s.altered(tag), err)
	}
	if err == nil {
		r, err = s.parse(tag, rows)
		r.known = known
	}
	done = err == nil && r.nextDamage == nil && r.next != r.was
	if done && r.base.mark == known.mark {
		s.adopt(r.base)
	}
	return r, done, err
}

// altered returns the error for a change that the database does not store as it is written.
func (s *Store) altered(tag string) error {
	return fmt.Errorf("%w: tag %q: table %v stores something other than what is written to it, so "+
		"nothing was taken; drop the trigger or the view that changes it, or make max_id a bigint",
		segment.ErrDamaged, tag, s.table)
}

// refuseTime bounds a change of the record. In a call of Gapless the change may wait for a lock
// that the caller's own transaction holds.
const refuseTime = 2 * time.Second

// why returns the reason why nothing was taken, or nil if the reason is gone.
func (s *Store) why(ctx context.Context, tag string, r row, before floor) error {
	ctx, cancel := context.WithTimeout(ctx, refuseTime)
	defer cancel()
	switch {
	case r.unsafe:
		return invalid("%s", s.dialect.Unsafe.Says)
	case r.nextDamage != nil:
		return r.nextDamage
	}
	if again, err := s.judge(ctx, tag, r); again || err != nil {
		return err
	}
	if err := s.judgeOwn(tag, r); err != nil {
		return err
	}
	now := s.given.floor(tag)
	if r.next < before.next && now.returns == before.returns { //mutant:sql-segment-back
		back := &segment.WentBackError{
			Tag: tag, Got: segment.Range{First: r.next, Last: r.next}, Above: before.next - 1,
		}
		return s.refuse(ctx, back, r.tag, r.own, fmt.Sprintf(wentBack, r.next, back.Above))
	}
	if r.next >= s.bound.Load() {
		if _, err := s.find(ctx); err != nil { // an operator may have widened the column
			return err
		}
	}
	bound, wider := s.bound.Load(), "; use a wider column"
	if bound == math.MaxInt64 {
		wider = ", where numbers end"
	}
	if r.next >= bound {
		return fmt.Errorf("%w: tag %q: max_id in table %v is %d, and its column holds %d at most%s",
			segment.ErrExhausted, tag, s.table, r.next, bound, wider)
	}
	return nil
}

// GiveBack implements [segment.Store]. It is sent once.
func (s *Store) GiveBack(ctx context.Context, tag string,
	unused segment.Range,
) (done bool, err error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Unused(unused)); err != nil {
		return false, err
	}
	s.given.back(tag, unused) // this store does not issue them again, even if the call fails
	err = s.once(ctx, func(ctx context.Context) (err error) {
		_, done, err = s.change(ctx, s.db.Once, tag, "$TO", "max_id = $FROM",
			values{"$TO": unused.First, "$FROM": unused.Last + 1})
		return err
	})
	return done, err
}

package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/segment"
)

// row is a tag and the server that it was read from.
type row struct {
	tag        string // as it is stored
	next, step int64
	was        int64 // next before the change that came before the reading
	nextDamage error // why next cannot be used; nil: it can
	stepDamage error
	here       string // which server this is
	unsafe     bool   // it is set such that nothing may be taken
	base       record // what is recorded for all tags
	own        mark   // and for this one
	known      record // what was known before it was read
}

// reading returns the statement that reads a row. If the transaction has changed the row before,
// after is the expression for the new max_id: the statement aborts the transaction if the stored
// max_id is neither the old nor the new one, because a trigger has replaced it. If after is empty,
// the statement only reads.
func (s *Store) reading(after string) string {
	was, abort := "max_id", "0"
	if after != "" {
		was = s.dialect.Was
		abort = s.dialect.Abort //mutant:sql-segment-abort
		abort = strings.ReplaceAll(abort, "{wrong}", "COALESCE(max_id, -1) <> {was} AND NOT "+
			"(COALESCE(max_id, -1) = "+after+" AND (SELECT COUNT(*) FROM {table} WHERE biz_tag = $TAG) = 1)")
	}
	text := "SELECT biz_tag, max_id, step, " + was + ", {identity}, " +
		"CASE WHEN {unsafe} THEN 1 ELSE 0 END"
	for _, column := range []string{
		"identity, $ALL", "stamp, $ALL", "stamp, $MINUTES", "identity, {key}", "stamp, {key}",
	} {
		what, name, _ := strings.Cut(column, ", ")
		text += ", (SELECT " + what + " FROM {meta} WHERE name = " + name + ")"
	}
	return text + ", " + abort + " FROM {table} WHERE biz_tag = $TAG"
}

// read reads the row of a tag, after other statements of the same transaction.
func (s *Store) read(ctx context.Context, tag string, before ...string) (r row, err error) {
	known, _ := s.known("")
	text := s.write(s.reading(""), values{"$TAG": tag})
	rows, err := s.transact(ctx, append(before, text)...)
	if err == nil {
		r, err = s.parse(tag, rows)
		r.known = known
	}
	return r, err
}

// unknown returns the error for a tag that is not in the table.
func (s *Store) unknown(tag string) error {
	return fmt.Errorf("%w: %q is not in table %v", segment.ErrUnknownTag, tag, s.table)
}

// parse decodes the result of a [Store.reading] statement.
func (s *Store) parse(tag string, rows [][]string) (r row, err error) {
	switch {
	case len(rows) == 0:
		return r, s.unknown(tag)
	case len(rows) > 1:
		return r, fmt.Errorf("%w: table %v has %d rows of tag %q, so that ranges would be handed out "+
			"twice; delete all but the one with the highest max_id, and make biz_tag the primary key",
			segment.ErrDamaged, s.table, len(rows), tag)
	}
	cols := rows[0]
	r.tag, r.here, r.unsafe = cols[0], cols[4], cols[5] == "1"
	r.next, r.nextDamage = s.storedNext(tag, cols[1])
	r.step, r.stepDamage = s.storedStep(tag, cols[2])
	r.base.identity, r.own.identity = cols[6], cols[9]
	if r.was, err = wholeNumber(cols[3]); err != nil { // there was no row to lock
		r.was = r.next //mutant:sql-segment-was
	}
	// An empty column is read as 0.
	r.base.stamp, _ = wholeNumber(cols[7])
	r.base.minutes, _ = wholeNumber(cols[8])
	r.own.stamp, _ = wholeNumber(cols[10])
	return r, nil
}

// transact runs statements in one transaction. It never begins a read-only one: a proxy would send
// that to a replica, which has another identity and may have an old record.
func (s *Store) transact(ctx context.Context, texts ...string) ([][]string, error) {
	return s.db.Transact(ctx, true, statements(texts))
}

// statements converts texts.
func statements(texts []string) []sqldb.Statement {
	all := make([]sqldb.Statement, len(texts))
	for i, text := range texts {
		all[i].SQL = text
	}
	return all
}

// storedNext reads max_id of a tag.
func (s *Store) storedNext(tag, text string) (int64, error) {
	n, err := wholeNumber(text)
	if err != nil {
		return 0, fmt.Errorf("%w: tag %q: max_id in table %v is %s; a whole number from 0 to %d is "+
			"allowed; set one above every number in use", segment.ErrDamaged,
			tag, s.table, cmp.Or(text, "NULL"), s.bound.Load())
	}
	return n, tagcheck.Next(tag, "max_id in table "+s.table.String(), n, s.bound.Load())
}

// storedStep reads the step of a tag.
func (s *Store) storedStep(tag, text string) (int64, error) {
	n, err := wholeNumber(text)
	if err != nil {
		return 0, fmt.Errorf("%w: tag %q: step in table %v is %s; set one from 1 to %d",
			segment.ErrDamaged, tag, s.table, cmp.Or(text, "NULL"), int64(segment.MaxStep))
	}
	return n, tagcheck.Stored(tag, "step in table "+s.table.String(), n)
}

// wholeNumber reads a whole number of a column that may be unsigned, or decimal.
func wholeNumber(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if strings.Trim(fraction, "0") != "" || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalid("%q is no whole number", s)
	}
	return n, nil // the largest or least number if it is out of range
}

// Tag implements [segment.Store].
func (s *Store) Tag(ctx context.Context, tag string) (t segment.Tag, err error) {
	if err := segment.CheckTag(tag); err != nil {
		return t, err
	}
	all, err := s.tags(ctx, "WHERE biz_tag = $TAG", tag)
	if err == nil && len(all) == 0 {
		err = s.unknown(tag)
	}
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// Tags implements [segment.Store].
func (s *Store) Tags(ctx context.Context) ([]segment.Tag, error) { return s.tags(ctx, "", "") }

// tags lists some tags, or all.
func (s *Store) tags(ctx context.Context, some, tag string) (all []segment.Tag, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		rows, err := s.transact(ctx,
			s.write("SELECT biz_tag, max_id, step, description, {updated} FROM {table} "+some,
				values{"$TAG": tag}))
		if err != nil {
			return err
		}
		all = nil
		for _, r := range rows {
			t := segment.Tag{Name: r[0], Description: r[3], Most: s.bound.Load() - 1}
			var next, step error
			t.Next, next = s.storedNext(t.Name, r[1])
			t.Step, step = s.storedStep(t.Name, r[2])
			t.Damage = cmp.Or(next, step)
			if seconds, err := wholeNumber(r[4]); err == nil && seconds > 0 {
				t.Updated = time.Unix(seconds, 0)
			}
			all = append(all, t)
		}
		slices.SortFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return all, err
}

// Create implements [segment.Creator].
func (s *Store) Create(ctx context.Context, t segment.Tag) error {
	if err := cmp.Or(segment.CheckTag(t.Name), tagcheck.Step(t.Step, 1)); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		if err := cmp.Or(s.fits("the first number", t.Next, s.bound.Load()),
			s.fits("step", t.Step, s.stepMost.Load())); err != nil {
			return err
		}
		since, over := never, never
		if !t.Since.IsZero() {
			since = t.Since.AddDate(0, 0, -1).Format(time.DateOnly) // in any time zone
		}
		of, day, group := segment.GroupOf(t.Name)
		if group {
			over = day.Format(time.DateOnly)
		}
		prefix := s.skips()
		v := values{
			"$TAG": t.Name, "$NEXT": t.Next, "$STEP": t.Step, "$WHAT": t.Description, "$SINCE": since,
			"$SKIPS": prefix, "$LEN": len(prefix), "$PRUNED": s.pruned(of),
			"$OVER": over,
		}
		// The lock keeps AdvanceAll and Prune out until the new tag is stored.
		const pruned = "SELECT identity FROM {meta} WHERE name = $PRUNED"
		rows, err := s.transact(ctx, s.write(lockRecord, nil),
			s.write("INSERT INTO {table} (biz_tag, max_id, step, description) SELECT $TAG, $NEXT + "+
				"COALESCE(SUM(stamp), 0), $STEP, $WHAT FROM {meta} WHERE LEFT(name, $LEN) = $SKIPS AND "+
				"identity >= $SINCE HAVING COALESCE(("+pruned+"), '') < $OVER", v), s.write(pruned, v))
		if err != nil && s.db.Class(err) == sqldb.Duplicate {
			return fmt.Errorf("%w: %q: %w", segment.ErrTagExists, t.Name, err)
		}
		if err == nil && len(rows) > 0 {
			before, _ := time.Parse(time.DateOnly, rows[0][0])
			return tagcheck.Pruned(t.Name, before)
		}
		return err
	})
}

const (
	never      = "9999-12-31" // later than every day that is stored
	lockRecord = "SELECT stamp FROM {meta} WHERE name = $ALL FOR UPDATE"
)

// pruned returns the name of the row of unalike_meta that stores up to which day the groups of a
// tag were removed.
func (s *Store) pruned(tag string) string { return s.table.name + "!pruned:" + tag }

// Prune implements [segment.Pruner].
func (s *Store) Prune(ctx context.Context, tag string,
	before time.Time,
) (removed int, err error) {
	if err := segment.CheckTag(tag); err != nil {
		return 0, err
	}
	day := before.Format(time.DateOnly)
	v := values{"$TAG": tag, "$PRUNED": s.pruned(tag), "$DAY": day}
	err = s.call(ctx, func(ctx context.Context) error {
		rows, err := s.transact(ctx, s.write(lockRecord, nil),
			s.write("UPDATE {meta} SET identity = $DAY WHERE name = $PRUNED AND identity < $DAY", v),
			s.write(s.dialect.Insert+" {meta} (name, identity, stamp) SELECT $PRUNED, $DAY, 0 FROM {table} "+
				"WHERE biz_tag = $TAG "+s.dialect.Present, v),
			s.write("SELECT identity FROM {meta} WHERE name = $PRUNED", v))
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return s.unknown(tag)
		case rows[0][0] != day:
			return invalid("the groups of tag %q before %s are removed already", tag, rows[0][0])
		}
		all, err := s.transact(ctx, s.write("SELECT biz_tag FROM {table}", nil))
		var names []string
		for _, r := range all {
			if tagcheck.IsPast(r[0], tag, before) {
				names = append(names, s.dialect.Text(r[0]))
			}
		}
		if removed = len(names); err != nil || removed == 0 {
			return err
		}
		_, err = s.transact(ctx, s.write("DELETE FROM {table} WHERE biz_tag IN ($NAMES)",
			values{"$NAMES": expression(strings.Join(names, ", "))}))
		return err
	})
	return removed, err
}

// SetStep implements [segment.Creator].
func (s *Store) SetStep(ctx context.Context, tag string, step int64) error {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Step(step, 1)); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		if err := s.fits("step", step, s.stepMost.Load()); err != nil {
			return err
		}
		_, err := s.read(ctx, tag, s.write("UPDATE {table} SET step = $STEP WHERE biz_tag = $TAG",
			values{"$STEP": step, "$TAG": tag}))
		return err
	})
}

// Advance implements [segment.Store].
func (s *Store) Advance(ctx context.Context, tag string, to int64) error {
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		if err := s.fits("the next number", to, s.bound.Load()); err != nil {
			return err
		}
		for range tries {
			r, raised, err := s.change(ctx, s.commit, tag, "$TO", "max_id < $TO", values{
				"$TO": to, "$OWN": int64(math.MaxInt64), // whatever is recorded of this tag
			})
			if err == nil {
				_, err = s.judge(ctx, tag, r)
			}
			switch {
			case err != nil:
				return err
			case r.nextDamage != nil:
				return r.nextDamage
			case r.next > to:
				return invalid("tag %q is at %d already, and %d is lower; numbers go up only", tag, r.next, to)
			case raised || r.next == to:
				if r.own.stamp <= r.base.stamp || s.same(r.own, r.here) {
					return nil
				}
				return s.put(ctx, r.tag, r.own, r.here)
			}
		}
		return s.altered(tag)
	})
}

// fits refuses what a column would clamp.
func (s *Store) fits(what string, n, most int64) error {
	if n > most || n < 0 {
		return invalid("%s is %d; the column in table %v holds numbers from 0 to %d", what, n, s.table,
			most)
	}
	return nil
}

package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// row is a tag and the server that it was read from.
type row struct {
	tag        string // as it is stored
	next, step int64
	nextDamage error // why next cannot be used; nil: it can
	stepDamage error
	here       string // which server this is
	unsafe     bool   // it is set such that nothing may be taken
	base, own  mark   // what is recorded for all tags, and for this one
}

// readBy reads the row of a tag, after other statements of the same transaction. Without statements
// it writes nothing.
func (s *Store) readBy(ctx context.Context, tag string, before ...string) (r row, err error) {
	rows, err := s.run(func(meta bool) ([][]string, error) {
		recorded := "'', 0, '', 0"
		if meta {
			var parts []string
			for _, name := range []string{"$ALL", s.dialect.Key} {
				for _, column := range []string{"identity", "stamp"} {
					parts = append(parts, "(SELECT "+column+" FROM {meta} WHERE name = "+name+")")
				}
			}
			recorded = strings.Join(parts, ", ")
		}
		last := s.write("SELECT biz_tag, max_id, step, {identity}, CASE WHEN {unsafe} THEN 1 "+
			"ELSE 0 END, "+recorded+" FROM {table} WHERE biz_tag = $TAG", values{"$TAG": tag})
		return s.transact(ctx, len(before) > 0, append(before, last)...)
	})
	switch {
	case err != nil:
		return r, err
	case len(rows) == 0:
		return r, fmt.Errorf("%w: %q is not in table %v", segment.ErrUnknownTag, tag, s.table)
	}
	cols := rows[0]
	r.tag, r.here = cols[0], cols[3]
	r.unsafe = cols[4] == "1"
	r.next, r.nextDamage = s.storedNext(tag, cols[1])
	r.step, r.stepDamage = s.storedStep(tag, cols[2])
	for i, m := range []*mark{&r.base, &r.own} {
		m.identity = cols[5+2*i]
		m.stamp, _ = number(cols[6+2*i]) // there is none if it is empty
	}
	return r, nil
}

// run runs what reads our own table, or is told that it is not there. Without it, what others have
// recorded since this program began is not noticed.
func (s *Store) run(f func(meta bool) ([][]string, error)) ([][]string, error) {
	meta := s.meta.Load()
	rows, err := f(meta)
	if !meta || !s.lacks(err) {
		return rows, err
	}
	rows, err = f(false)
	if err == nil && s.meta.Swap(false) {
		s.log.Warn("table "+metaName+" is gone, or may not be read any more, so that it is not noticed "+
			"what others say of the server", "table", s.table.String())
	}
	return rows, err
}

// transact makes statements in one transaction.
func (s *Store) transact(ctx context.Context, write bool, texts ...string) ([][]string, error) {
	return s.db.Transact(ctx, write, statements(texts))
}

// statements are those of a transaction.
func statements(texts []string) []sqldb.Statement {
	all := make([]sqldb.Statement, len(texts))
	for i, text := range texts {
		all[i].SQL = text
	}
	return all
}

// storedNext reads max_id of a tag.
func (s *Store) storedNext(tag, text string) (int64, error) {
	n, err := number(text)
	if err != nil {
		return 0, fmt.Errorf("%w: tag %q: max_id in table %v is %s; a whole number from 0 to %d is "+
			"allowed; set one above every number in use", segment.ErrDamaged,
			tag, s.table, cmp.Or(text, "NULL"), s.bound.Load())
	}
	return n, segment.CheckNext(tag, "max_id in table "+s.table.String(), n, s.bound.Load())
}

// storedStep reads the step of a tag.
func (s *Store) storedStep(tag, text string) (int64, error) {
	n, err := number(text)
	if err != nil {
		return 0, fmt.Errorf("%w: tag %q: step in table %v is %s; set one from 1 to %d",
			segment.ErrDamaged, tag, s.table, cmp.Or(text, "NULL"), int64(segment.MaxStep))
	}
	return n, segment.CheckStored(tag, "step in table "+s.table.String(), n)
}

// number reads a whole number of a column that may be unsigned, or decimal.
func number(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if strings.Trim(fraction, "0") != "" || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%w: %q is no whole number", segment.ErrInvalidConfig, s)
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
		err = fmt.Errorf("%w: %q is not in table %v", segment.ErrUnknownTag, tag, s.table)
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
		rows, err := s.transact(ctx, false,
			s.write("SELECT biz_tag, max_id, step, description, {updated} FROM {table} "+some,
				values{"$TAG": tag}))
		if err != nil {
			return err
		}
		all = nil
		for _, r := range rows {
			t := segment.Tag{Name: r[0], Description: r[3]}
			var next, step error
			t.Next, next = s.storedNext(t.Name, r[1])
			t.Step, step = s.storedStep(t.Name, r[2])
			t.Damage = cmp.Or(next, step)
			if seconds, err := number(r[4]); err == nil && seconds > 0 {
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
	if err := cmp.Or(segment.CheckTag(t.Name), segment.CheckStep(t.Step, 1)); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		if err := cmp.Or(s.fits("the first number", t.Next, s.bound.Load()),
			s.fits("step", t.Step, s.stepMost.Load())); err != nil {
			return err
		}
		_, err := s.transact(ctx, true,
			s.write("INSERT INTO {table} (biz_tag, max_id, step, description) VALUES ($TAG, $NEXT, "+
				"$STEP, $WHAT)",
				values{"$TAG": t.Name, "$NEXT": t.Next, "$STEP": t.Step, "$WHAT": t.Description}))
		if err != nil && s.db.Class(err) == sqldb.Duplicate {
			return fmt.Errorf("%w: %q: %w", segment.ErrTagExists, t.Name, err)
		}
		return err
	})
}

// SetStep implements [segment.Creator].
func (s *Store) SetStep(ctx context.Context, tag string, step int64) error {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 1)); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		if err := s.fits("step", step, s.stepMost.Load()); err != nil {
			return err
		}
		_, err := s.readBy(ctx, tag, s.write("UPDATE {table} SET step = $STEP WHERE biz_tag = $TAG",
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
		// The row stays locked until it is read: nobody has taken a range in between.
		r, err := s.readBy(ctx, tag, s.write(
			"UPDATE {table} SET max_id = $TO WHERE biz_tag = $TAG AND max_id < $TO",
			values{"$TO": to, "$TAG": tag}))
		switch {
		case err != nil:
			return err
		case r.nextDamage != nil:
			return r.nextDamage
		case r.next > to:
			return fmt.Errorf("%w: tag %q is at %d already, and %d is lower; numbers go up only",
				segment.ErrInvalidConfig, tag, r.next, to)
		}
		return s.accept(ctx, tag, r)
	})
}

// fits refuses what a column would clamp.
func (s *Store) fits(what string, n, most int64) error {
	if n > most || n < 0 {
		return fmt.Errorf("%w: %s is %d; the column in table %v holds numbers from 0 to %d",
			segment.ErrInvalidConfig, what, n, s.table, most)
	}
	return nil
}

// whole is a type of whole numbers, as databases write it.
var whole = regexp.MustCompile(
	`^(tinyint|smallint|mediumint|integer|int|bigint|decimal|numeric)(?:\((\d+)(?:,0)?\))?( ` +
		`unsigned)?(?: zerofill)?$`)

// boundOf is the largest number that a column of a type can hold, and that fits in int64.
func boundOf(name string) (int64, error) {
	m := whole.FindStringSubmatch(strings.ToLower(name))
	if m == nil {
		return 0, fmt.Errorf("%w: it is of type %q; a type of whole numbers is needed, such as bigint",
			segment.ErrInvalidConfig, name)
	}
	bits := map[string]int{
		"tinyint": 7, "smallint": 15, "mediumint": 23, "integer": 31,
		"int": 31,
	}[m[1]]
	switch {
	case bits > 0 && m[3] != "":
		return 1<<(bits+1) - 1, nil
	case bits > 0:
		return 1<<bits - 1, nil
	case m[1] == "bigint":
		return math.MaxInt64, nil
	}
	digits, err := strconv.Atoi(m[2])
	if err != nil || digits > 18 || m[2] == "" {
		return math.MaxInt64, nil //nolint:nilerr // numeric without digits has no bound
	}
	n := int64(1)
	for range digits {
		n *= 10
	}
	return n - 1, nil
}

// holds notes which numbers a column can hold.
func (s *Store) holds(column, kind string) error {
	bound, err := boundOf(kind)
	switch {
	case err != nil:
		return fmt.Errorf("column %s of table %v: %w", column, s.table, err)
	case column == "max_id":
		s.bound.Store(bound)
	default:
		s.stepMost.Store(bound)
	}
	return nil
}

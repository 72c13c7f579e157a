package sqlsegment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// mark is which server a tag is to be on, and when that was said. Stamps rise, so that a server
// that was left is not taken for the one that follows.
type mark struct {
	identity string
	stamp    int64
}

// marks are those of a tag: what this program knows, and what is recorded for all tags and for this
// one.
type marks struct{ known, base, own mark }

// judge says which mark of a tag counts, whether it is that of all tags, and whether it says that
// the server which is here is the one that the tag is to be on. The newest one counts, whether that
// was known before or somebody has recorded it since. It may lead away: the server was left once,
// and is back with what it had then, or with less than what the other one has handed out.
func (m marks) judge(here string) (is mark, all, same bool) {
	is = m.known
	if m.base.stamp > is.stamp {
		is, all = m.base, true
	}
	if m.own.stamp > is.stamp {
		is, all = m.own, false
	}
	return is, all, is.identity == here
}

// expected is which server a tag is to be on.
func (s *Store) expected(tag string) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.own[tag]; ok && m.stamp > s.base.stamp {
		return m
	}
	return s.base
}

// adopt notes which server a tag is to be on; all tags if it is empty.
func (s *Store) adopt(tag string, m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag == "" {
		s.base = m
		clear(s.own)
		return
	}
	s.own[tag] = m
}

// place finds out whether a tag is on the server that it is to be on, and learns what is recorded.
// With a number to skip it is, after that is added to every tag, once for all programs.
func (s *Store) place(ctx context.Context, tag string, r row) error {
	m := marks{s.expected(tag), r.base, r.own}
	is, all, same := m.judge(r.here)
	switch {
	case !same && s.opts.Skip > 0 && s.meta.Load():
		return s.skip(ctx, tag, r, is)
	case all:
		s.adopt("", is)
	case is != m.known:
		s.adopt(tag, is)
	}
	if !same {
		return &segment.StoreChangedError{Tag: tag, Was: is.identity, Here: r.here}
	}
	return nil
}

// record is the one statement that says which server is that of a tag, by its name as it is stored,
// or of all. Its stamp is above what was recorded before.
func (s *Store) record(tag, here string, stamp int64) string {
	key := s.table.name
	if tag != "" {
		key += ":" + tag
	}
	return s.write("INSERT INTO {meta} (name, identity, stamp) VALUES ($NAME, $HERE, $STAMP) "+
		s.dialect.Replaced, values{"$NAME": key, "$HERE": here, "$STAMP": stamp})
}

// raised is the statement that adds to every tag, if no stamp is given or that is the one recorded
// for all. What is damaged stays as it is.
func (s *Store) raised(by, stamp int64) string {
	bound, where := s.bound.Load(), ""
	if stamp > 0 {
		where = "WHERE EXISTS (SELECT 1 FROM {meta} WHERE name = $ALL AND stamp = $STAMP)"
	}
	return s.write("UPDATE {table} SET max_id = CASE WHEN max_id < 0 THEN max_id WHEN max_id > $MOST "+
		"THEN $BOUND ELSE max_id + $BY END "+where+" {all}",
		values{"$MOST": max(0, bound-by), "$BOUND": bound, "$BY": by, "$STAMP": stamp})
}

// skip adds to every tag what may be missing here, and says that all are on this server. Of several
// programs one does it, the one whose stamp is stored: the others wait for the row, and find
// another one than they have read.
func (s *Store) skip(ctx context.Context, tag string, r row, was mark) error {
	stamp := newStamp(was, r.base, r.own)
	now, err := s.readBy(ctx, tag,
		s.write("UPDATE {meta} SET identity = $HERE, stamp = $STAMP WHERE name = $ALL AND stamp = $WAS",
			values{"$HERE": r.here, "$STAMP": stamp, "$WAS": r.base.stamp}),
		s.raised(s.opts.Skip, stamp))
	if err != nil {
		return err
	}
	if now.base.identity != now.here {
		return &segment.StoreChangedError{Tag: tag, Was: was.identity, Here: now.here}
	}
	s.adopt("", now.base)
	if now.base.stamp == stamp {
		s.log.Warn("the store of segments is another server than before; numbers were skipped", "table",
			s.table.String(), "was", was.identity, "is", r.here, "skipped", s.opts.Skip)
	}
	return nil
}

// accept notes that a tag is as it should be on this server, if it is another one than before.
func (s *Store) accept(ctx context.Context, tag string, r row) error {
	known := s.expected(tag)
	is, _, same := marks{base: r.base, own: r.own}.judge(r.here)
	switch {
	case !s.meta.Load(): // this process alone knows
		s.adopt(tag, mark{r.here, known.stamp + 1})
		return nil
	case same && known.identity == r.here:
		return nil
	}
	now, err := s.readBy(ctx, tag, s.record(r.tag, r.here, newStamp(known, is)))
	if err == nil {
		s.adopt(tag, now.own)
	}
	return err
}

// AdvanceAll implements [segment.Advancer].
func (s *Store) AdvanceAll(ctx context.Context, by int64) error {
	if by < 0 {
		return fmt.Errorf("%w: every tag is to be raised by %d; numbers go up only",
			segment.ErrInvalidConfig, by)
	}
	return s.call(ctx, func(ctx context.Context) error {
		found, err := s.find(ctx, s.meta.Load())
		if err != nil {
			return err
		}
		is := mark{found.here, newStamp(s.expected(""), found.newest)}
		script := []string{s.raised(by, 0)}
		if s.meta.Load() {
			script = append(script, s.record("", is.identity, is.stamp))
		}
		if _, err := s.transact(ctx, true, script...); err != nil {
			return err
		}
		s.adopt("", is)
		return nil
	})
}

// look looks at the server before the first call: its identity, what its columns hold, what it may
// lose.
func (s *Store) look(ctx context.Context) error {
	if s.looked.Load() {
		return nil
	}
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.looked.Load() {
		return nil
	}
	found, without, err := s.begin(ctx)
	if err != nil {
		return err
	}
	warnings := found.risks
	if s.opts.RequireDurable && len(warnings) > 0 { //mutant:segment-durable
		return fmt.Errorf("%w: durable is required, and %s", segment.ErrInvalidConfig,
			strings.Join(warnings, "; "))
	}
	if s.meta.Store(without == nil); without != nil {
		warnings = append(warnings, fmt.Sprintf("table %s cannot be made beside table %v, so that a "+
			"program that starts after a failover does not notice that ranges may be missing: %v; have "+
			"somebody run: %s",
			metaName, s.table, without, s.write(s.dialect.Meta, nil)))
		found.base = mark{identity: found.here}
	}
	s.adopt("", found.base)
	s.mu.Lock()
	s.warnings = warnings
	s.mu.Unlock()
	for _, w := range warnings {
		s.log.Warn("the store of segments has a weakness", "table", s.table.String(), "warning", w)
	}
	s.looked.Store(true)
	return nil
}

// begin finds out what there is, and records this server as that of all tags if there is none.
// Without is why that cannot be.
func (s *Store) begin(ctx context.Context) (f finding, without, err error) {
	f, err = s.find(ctx, true)
	if s.lacks(err) || err == nil && f.base.identity == "" {
		_, err = s.transact(ctx, true, s.write(s.dialect.Meta, nil),
			s.write(s.dialect.Insert+" {meta} (name, identity, stamp) VALUES ($ALL, {identity}, {now}) "+
				s.dialect.Present, nil))
		if err == nil || s.db.Class(err) == sqldb.Duplicate || s.db.Class(err) == sqldb.Race {
			f, err = s.find(ctx, true)
		}
	}
	if s.lacks(err) {
		without = fmt.Errorf("it is not there, and this user may not make it (%w)", err)
		f, err = s.find(ctx, false)
	}
	return f, without, err
}

// lacks reports whether a right is missing, or a table.
func (s *Store) lacks(err error) bool {
	c := s.db.Class(err)
	return c == sqldb.Denied || c == sqldb.NoTables
}

// finding is what there is on a server.
type finding struct {
	here         string
	base, newest mark // for all tags, and the newest one of any of this table
	risks        []string
}

// find finds out what there is, in one round trip, and notes what the columns hold. Meta says
// whether our own table is there.
func (s *Store) find(ctx context.Context, meta bool) (f finding, err error) {
	text := "SELECT 'here', " + s.dialect.Plain("{identity}") + ", CASE WHEN " + s.dialect.Hidden +
		" THEN '1' ELSE '0' END"
	for i, r := range s.dialect.Risks {
		text += fmt.Sprintf(" UNION ALL SELECT 'risk', '%d', CASE WHEN %s THEN '1' ELSE '0' END", i, r.If)
	}
	text += " UNION ALL " + s.dialect.Types
	if meta {
		plain := s.dialect.Plain
		text += " UNION ALL SELECT 'base', " + plain("identity") + ", " +
			plain("CAST(stamp AS CHAR(20))") + " FROM {meta} WHERE name = $ALL" +
			" UNION ALL SELECT 'newest', '', " + plain("CAST(COALESCE(MAX(stamp), 0) AS CHAR(20))") +
			" FROM {meta}"
	}
	rows, err := s.transact(ctx, false, s.write(text, nil))
	if err != nil {
		return f, err
	}
	types := 0
	for _, r := range rows {
		stamp, _ := number(r[2])
		switch r[0] {
		case "here":
			if f.here = r[1]; stamp == 1 { //mutant:segment-hidden
				return f, fmt.Errorf("%w: "+sqldb.Hidden, segment.ErrInvalidConfig,
					s.table.String()+", "+metaName)
			}
		case "base":
			f.base = mark{r[1], stamp}
		case "newest":
			f.newest.stamp = stamp
		case "risk":
			if i, err := number(r[1]); err == nil && r[2] == "1" {
				f.risks = append(f.risks, s.dialect.Risks[i].Says)
			}
		default:
			types++
			if err := s.holds(r[1], r[2]); err != nil {
				return f, err
			}
		}
	}
	if types == 0 {
		return f, s.missing()
	}
	return f, nil
}

// Look looks at the server, and returns why it can never do. A server that cannot be reached is
// looked at by the first call that reaches it.
func (s *Store) Look(ctx context.Context) error {
	err := s.call(ctx, func(context.Context) error { return nil })
	if err != nil && (errors.Is(err, segment.ErrInvalidConfig) || ctx.Err() != nil) {
		return err
	}
	return nil
}

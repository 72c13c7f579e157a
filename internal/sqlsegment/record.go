package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// mark is a row of unalike_meta. It names the server from which ranges of the table, or of one tag,
// may be taken, or the reason why none may be taken. Of two marks the one with the higher stamp
// counts.
type mark struct {
	identity string
	stamp    int64
}

// record is the mark of the whole table, and the minutes. These rise once a minute while ranges are
// taken: a running program that reads lower minutes than before knows that the database was
// restored.
type record struct {
	mark
	minutes int64
	counted time.Time // when this store read the minutes first
}

// Identities of marks that refuse begin with these texts.
const (
	refused  = "refused, "
	changed  = refused + "another server than "
	restored = refused + "restored from before "
	wentBack = refused + "went back to %d, after %d"
)

// same reports whether a mark names the server here, or servers of the same group.
func (s *Store) same(m mark, here string) bool {
	other := func(one string) bool { return !slices.Contains(s.opts.Servers, one) }
	return m.identity == here ||
		here == s.group && !slices.ContainsFunc(strings.Split(m.identity, ","), other)
}

// known returns the record that this store has last found right, and the newest stamp that it has
// found right for a tag.
func (s *Store) known(tag string) (r record, newest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record, max(s.record.stamp, s.own[tag])
}

// adopt remembers a record that is right.
func (s *Store) adopt(r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.mark != s.record.mark:
		clear(s.own)
	case r.minutes <= s.record.minutes:
		return
	}
	s.record = r
	s.record.counted = time.Now()
}

// judge compares the record in a row with the one that this store knows. If the row is from another
// server, or from a restored database, judge records that, and every program refuses until an
// operator raises all tags. If Options.Skip is set and the server is another one, judge raises all
// tags instead. It returns true if the row must be read again.
func (s *Store) judge(ctx context.Context, tag string, r row) (again bool, err error) {
	known := r.known //mutant:sql-segment-known
	back := r.base.stamp < known.stamp ||
		r.base.stamp == known.stamp && r.base.minutes < known.minutes
	was, moved := strings.CutPrefix(r.base.identity, changed)
	was, old := strings.CutPrefix(was, restored)
	switch {
	case old, moved && s.opts.Skip == 0:
		return false, &segment.StoreChangedError{Tag: tag, Was: was, Here: r.here}
	case moved || !s.same(r.base.mark, r.here) || back && !s.same(known.mark, r.here):
		if back {
			was = known.identity
		}
		return true, s.meet(ctx, tag, r, changed, was, r.here)
	case back:
		was = fmt.Sprintf("%s at %d/%d", known.identity, known.stamp, known.minutes)
		here := fmt.Sprintf("%s at %d/%d", r.here, r.base.stamp, r.base.minutes)
		return true, s.meet(ctx, tag, r, restored, was, here)
	}
	s.adopt(r.base)
	return false, nil
}

// judgeOwn returns an error if the mark of the tag itself names another server, or a reason to
// refuse.
func (s *Store) judgeOwn(tag string, r row) error {
	if r.own.stamp <= r.base.stamp {
		return nil
	}
	if s.same(r.own, r.here) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.own[tag] = r.own.stamp
		return nil
	}
	var back segment.WentBackError
	if n, _ := fmt.Sscanf(r.own.identity, wentBack, &back.Got.First, &back.Above); n == 2 {
		back.Tag, back.Got.Last = tag, back.Got.First
		return &back
	}
	return &segment.StoreChangedError{Tag: tag, Was: r.own.identity, Here: r.here}
}

// meet records that the table is on another server or was restored, or skips numbers on another
// server. It does nothing if another program has changed the record since it was read.
func (s *Store) meet(ctx context.Context, tag string, r row, what, was, here string) error {
	wrong := &segment.StoreChangedError{Tag: tag, Was: was, Here: here}
	f, err := s.find(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w (%w)", wrong, err)
	case f.base.mark != r.base.mark || f.here != r.here:
		return nil
	case what == changed && s.opts.Skip > 0:
		done, err := s.raise(ctx, f, s.opts.Skip)
		if done {
			s.log.Warn("the store of segments is another server than before; numbers were skipped",
				"table", s.table.String(), "was", was, "is", here, "skipped", s.opts.Skip)
		}
		return err
	}
	return s.refuse(ctx, wrong, "", f.base.mark, what+was+", then "+here)
}

// refuse records a reason why no range of a tag may be taken, or of any tag if tag is empty. It
// replaces the mark was, and returns the error wrong.
func (s *Store) refuse(ctx context.Context, wrong error, tag string, was mark, why string) error {
	s.log.Warn("the store of segments gives no more ranges until somebody raises its tags",
		"table", s.table.String(), "tag", cmp.Or(tag, "all"), "reason", why)
	if err := s.put(ctx, tag, was, fmt.Sprintf("%.400s", why)); err != nil { // what the column holds
		return fmt.Errorf("%w (recording it: %w)", wrong, err)
	}
	return wrong
}

// put replaces the mark of a tag, or that of the table.
func (s *Store) put(ctx context.Context, tag string, was mark, is string) error {
	f, err := s.find(ctx)
	if err == nil {
		_, err = s.transact(ctx, s.say(tag, mark{is, s.newStamp(f)}, was)...)
	}
	return err
}

// newStamp returns a stamp above all others. It is random, so that two programs hardly choose the
// same.
func (s *Store) newStamp(f finding) int64 {
	known, _ := s.known("")
	return max(known.stamp, f.newest) + 1 + rand.Int64N(1<<30)
}

// say returns the statements that replace the mark of a tag, or that of the table.
func (s *Store) say(tag string, is, was mark) []string {
	name := s.table.name
	if tag != "" {
		name += ":" + tag
	}
	v := values{
		"$NAME": name, "$IS": is.identity, "$STAMP": is.stamp, "$WAS": was.stamp,
	}
	return []string{
		s.write("UPDATE {meta} SET identity = $IS, stamp = $STAMP WHERE name = $NAME AND "+
			"stamp = $WAS", v),
		s.write(s.dialect.Insert+" {meta} (name, identity, stamp) VALUES ($NAME, $IS, $STAMP) "+
			s.dialect.Present, v),
	}
}

// skips returns the beginning of the names of rows that record a raise of all tags: the stamp is
// the number that was added, and the identity the day.
func (s *Store) skips() string { return s.table.name + "!skipped:" }

// raise adds a number to every tag and records the server of f as that of the table. It does
// nothing if another program has changed the record since f. Damaged tags stay as they are.
func (s *Store) raise(ctx context.Context, f finding, by int64) (done bool, err error) {
	is := mark{f.here, s.newStamp(f)}
	bound := s.bound.Load()
	v := values{
		"$MOST": max(0, bound-by), "$BOUND": bound, "$BY": by, "$STAMP": is.stamp,
		"$SKIPS": s.skips() + fmt.Sprint(is.stamp), "$DAY": f.now.Format(time.DateOnly),
	}
	const recorded = "FROM {meta} WHERE name = $ALL AND stamp = $STAMP"
	script := append(s.say("", is, f.base.mark),
		s.write("UPDATE {table} SET max_id = CASE WHEN max_id < 0 THEN max_id WHEN max_id > $MOST "+
			"THEN $BOUND ELSE max_id + $BY END WHERE EXISTS (SELECT 1 "+recorded+") {all}", v),
		s.write("INSERT INTO {meta} (name, identity, stamp) SELECT $SKIPS, $DAY, $BY "+recorded, v),
		s.write("SELECT stamp "+recorded, v))
	rows, err := s.transact(ctx, script...)
	if done = err == nil && len(rows) > 0; done {
		s.adopt(record{mark: is, minutes: f.base.minutes})
	}
	return done, err
}

// AdvanceAll implements [segment.Advancer].
func (s *Store) AdvanceAll(ctx context.Context, by int64) error {
	if by < 0 {
		return invalid("every tag is to be raised by %d; numbers go up only", by)
	}
	return s.call(ctx, func(ctx context.Context) error {
		f, err := s.find(ctx)
		if err != nil {
			return err
		}
		done, err := s.raise(ctx, f, by)
		if err == nil && !done {
			err = fmt.Errorf("table %v: another program has changed its record; try again", s.table)
		}
		return err
	})
}

// look looks at the server before the first call: its identity, what its columns hold, what it may
// lose.
func (s *Store) look(ctx context.Context) error {
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.looked {
		return nil
	}
	found, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if s.opts.RequireDurable && len(found.risks) > 0 { //mutant:segment-durable
		return invalid("durable is required, and %s",
			strings.Join(found.risks, "; "))
	}
	if s.same(found.base.mark, found.here) {
		s.adopt(found.base)
	}
	s.mu.Lock()
	s.warnings = found.risks
	s.mu.Unlock()
	for _, w := range found.risks {
		s.log.Warn("the store of segments has a weakness", "table", s.table.String(), "warning", w)
	}
	s.looked = true
	return nil
}

// begin returns the state of the server. If the table has no record yet, begin creates one that
// names this server.
func (s *Store) begin(ctx context.Context) (finding, error) {
	f, err := s.find(ctx)
	insert := s.dialect.Insert + " {meta} (name, identity, stamp) VALUES "
	script := []string{
		s.write(insert+"($ALL, {identity}, {now}) "+s.dialect.Present, nil),
		s.write(insert+"($MINUTES, '', 1) "+s.dialect.Present, nil),
	}
	switch class := s.db.Class(err); {
	case class == sqldb.NoTables || class == sqldb.Denied:
		script = append([]string{s.write(s.dialect.Meta, nil)}, script...)
	case err != nil || f.base.identity != "" && f.base.minutes > 0:
		return f, err
	}
	_, err = s.transact(ctx, script...)
	if class := s.db.Class(err); err == nil || class == sqldb.Duplicate || class == sqldb.Race {
		return s.find(ctx)
	}
	return f, err
}

// finding is the state of a server.
type finding struct {
	here   string
	now    time.Time
	base   record
	newest int64 // the highest stamp of our own table
	risks  []string
}

// find reads the state of the server in one round trip, and remembers the bounds of the columns.
func (s *Store) find(ctx context.Context) (f finding, err error) {
	plain := s.dialect.Plain
	number := func(n string) string { return plain("CAST(COALESCE(" + n + ", 0) AS CHAR(20))") }
	text := "SELECT 'here', " + plain("{identity}") + ", CASE WHEN " + s.dialect.Unfit.If +
		" THEN '1' ELSE '0' END UNION ALL SELECT 'now', '', " + number("{now}") +
		" UNION ALL " + s.dialect.Types +
		" UNION ALL SELECT 'base', " + plain("identity") + ", " + number("stamp") +
		" FROM {meta} WHERE name = $ALL UNION ALL SELECT 'minutes', '', " + number("stamp") +
		" FROM {meta} WHERE name = $MINUTES UNION ALL SELECT 'newest', '', " +
		number("MAX(stamp)") + " FROM {meta} WHERE name NOT LIKE '%!skipped:%'"
	for i, r := range s.dialect.Risks {
		text += fmt.Sprintf(" UNION ALL SELECT 'risk', '%d', CASE WHEN %s THEN '1' ELSE '0' END", i, r.If)
	}
	rows, err := s.transact(ctx, s.write(text, nil))
	if err != nil {
		return f, err
	}
	types := 0
	for _, r := range rows {
		n, _ := wholeNumber(r[2])
		switch r[0] {
		case "here":
			if f.here = r[1]; n == 1 { //mutant:segment-hidden
				return f, invalid(""+s.dialect.Unfit.Says,
					s.table.String()+", "+metaName)
			}
		case "now":
			f.now = time.UnixMicro(n).UTC()
		case "base":
			f.base.mark = mark{r[1], n}
		case "minutes":
			f.base.minutes = n
		case "newest":
			f.newest = n
		case "risk":
			if i, err := wholeNumber(r[1]); err == nil && n == 1 {
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

// Now implements [segment.Clock].
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		f, err := s.find(ctx)
		now = f.now
		return err
	})
	return now, err
}

// Look checks the server, and returns an error that retries cannot cure. It returns nil if the
// server cannot be reached: the first call that reaches it checks then.
func (s *Store) Look(ctx context.Context) error {
	err := s.call(ctx, func(context.Context) error { return nil })
	if errors.Is(err, segment.ErrInvalidConfig) || ctx.Err() != nil {
		return err
	}
	return nil
}

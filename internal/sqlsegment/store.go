package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/wrongserver"
	"github.com/unalike-id/unalike/segment"
)

// Options are those of the drivers.
type Options struct {
	// Table is the name of the table, or schema.table. Empty: leaf_alloc.
	Table string
	// RequireDurable refuses a server that may lose what it has confirmed. Otherwise it is a warning.
	RequireDurable bool
	// Skip is what is added to every tag when the server is another one than before, as after a
	// failover. 0: refills stop then with segment.ErrStoreChanged until somebody has advanced the tag.
	Skip int64
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// DefaultTable is Leaf's.
const DefaultTable = "leaf_alloc"

// Store implements [segment.Store] and [segment.Creator].
type Store struct {
	db      DB
	dialect Dialect
	table   table
	opts    Options
	log     *slog.Logger
	check   *wrongserver.Check // nil: it is not known where the server is

	done   context.Context // ends with Close
	finish context.CancelFunc
	bound  atomic.Int64 // the largest number that max_id can hold
	looked atomic.Bool  // what follows is known

	looking  chan struct{} // has one while look is under way
	meta     atomic.Bool   // our own table is there
	given    given
	stepMost atomic.Int64 // the largest number that step can hold
	mu       sync.Mutex
	base     mark            // that of all tags
	own      map[string]mark // of tags that were advanced on another server than that
	warnings []string
	closing  sync.Once
	closed   error
}

var (
	_ segment.Store    = (*Store)(nil)
	_ segment.Creator  = (*Store)(nil)
	_ segment.Advancer = (*Store)(nil)
	_ segment.Warner   = (*Store)(nil)
)

// New returns a store in a database. It contacts nobody.
func New(db DB, d Dialect, o Options) (*Store, error) {
	t, err := parseTable(cmp.Or(o.Table, DefaultTable))
	if err := cmp.Or(err, segment.CheckSkip(o.Skip)); err != nil {
		return nil, err
	}
	if err := db.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	s := &Store{
		db: db, dialect: d, table: t, opts: o, log: logs.Or(o.Logger), own: map[string]mark{},
		looking: make(chan struct{}, 1),
	}
	s.done, s.finish = context.WithCancel(context.Background())
	return s, nil
}

// parseTable reads the name of a table.
func parseTable(s string) (t table, err error) {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if part == "" || len(part) > 63 ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") != "" ||
			len(parts) > 2 {
			return t, fmt.Errorf("%w: the table is %q; it is a name, or schema.name, of letters, digits, _ "+
				"and $, 63 at most each", segment.ErrInvalidConfig, s)
		}
	}
	t.name = parts[len(parts)-1]
	if len(parts) == 2 {
		t.schema = parts[0]
	}
	return t, nil
}

// tries is how often a take that has changed nothing, for no reason that can be seen, is tried
// again.
const tries = 10

// Take implements [segment.Store].
func (s *Store) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 0)); err != nil {
		return segment.Range{}, err
	}
	var r segment.Range
	err := s.call(ctx, func(ctx context.Context) (err error) {
		r, err = s.take(ctx, tag, step)
		return err
	})
	return r, err
}

func (s *Store) take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	for range tries {
		floor := s.given.floor(tag)
		r, done, err := s.ask(ctx, tag, step)
		if err != nil {
			return r, err
		}
		if done {
			if err = s.given.note(tag, r, floor); err != nil {
				// Otherwise the refusal itself raises the row, until it is above what was handed out here
				// and not above what others have.
				_, _ = s.putBack(ctx, tag, r)
			}
			return r, err
		}
		row, err := s.why(ctx, tag)
		if step == 0 && err == nil {
			step, err = row.step, row.stepDamage
		}
		if err != nil {
			return segment.Range{}, err
		}
		step = min(step, s.bound.Load()-row.next)
	}
	return segment.Range{}, fmt.Errorf(
		"a range of tag %q was not taken in %d attempts, and nothing says why", tag, tries)
}

// forever is how many microseconds a statement may wait for a call without an end.
const forever = int64(24 * time.Hour / time.Microsecond)

// ask takes a range, if the next number and, with a step of 0, the tag's own are such that there is
// one, the server is the one that it is to be and no setting is unsafe, and if that is while
// somebody waits for it. It is one statement and what reads what is stored then.
func (s *Store) ask(ctx context.Context, tag string,
	step int64,
) (r segment.Range, done bool, err error) {
	was, wait := s.expected(tag), forever
	var size any = expression("step")
	if step > 0 {
		size = step
	}
	if end, ends := ctx.Deadline(); ends {
		//nolint:forbidigo // how long a call may take is no matter of ticks
		wait = max(0, time.Until(end).Microseconds())
	}
	rows, err := s.run(func(meta bool) ([][]string, error) {
		update := "UPDATE {table} SET max_id = {raised} + $SIZE{updates} WHERE biz_tag = $TAG AND " +
			"max_id BETWEEN 0 AND $BOUND - $SIZE AND $SIZE BETWEEN 1 AND $MOST AND NOT ({unsafe}) AND " +
			"{identity} = $IDENTITY AND " + s.dialect.Prompt
		if meta {
			for _, name := range []string{"$ALL", s.dialect.Key} {
				update += " AND COALESCE((SELECT stamp FROM {meta} WHERE name = " + name + "), 0) <= $STAMP"
			}
		}
		return s.changed(ctx, false, update, values{
			"$SIZE": size, "$BOUND": s.bound.Load(), "$MOST": int64(segment.MaxStep), "$WAIT": wait,
			"$TAG": tag, "$IDENTITY": was.identity, "$STAMP": was.stamp,
		})
	})
	if err != nil {
		return r, false, err
	}
	n, err1 := number(rows[0][0])
	if n > 1 {
		return r, false, fmt.Errorf("%w: the table has %d rows of the tag, so that ranges would be "+
			"handed out twice; delete all but the one with the highest max_id, and make biz_tag the "+
			"primary key",
			segment.ErrDamaged, n)
	}
	if n < 1 || err1 != nil {
		return r, false, err1
	}
	var is [3]int64 // max_id and step now, and max_id before
	for i := range is {
		if is[i], err = number(rows[0][i+1]); err != nil {
			return r, false, err
		}
	}
	if step == 0 {
		step = is[1]
	}
	if r = (segment.Range{First: is[0] - step, Last: is[0] - 1}); r.First != is[2] {
		return r, false, fmt.Errorf("%w: tag %q: max_id in table %v was %d, and is %d after %d were "+
			"added: a trigger or the column's type changes what is stored; drop the one, or use bigint",
			segment.ErrDamaged, tag, s.table, is[2], is[0], step)
	}
	return r, true, nil
}

// why finds out why nothing was taken. If that is over it returns what is stored, of which numbers
// are left.
func (s *Store) why(ctx context.Context, tag string) (row, error) {
	row, err := s.readBy(ctx, tag)
	switch {
	case err != nil:
		return row, err
	case row.unsafe:
		return row, fmt.Errorf("%w: %s", segment.ErrInvalidConfig, s.dialect.Unsafe.Says)
	case row.nextDamage != nil:
		return row, row.nextDamage
	}
	if err := s.place(ctx, tag, row); err != nil {
		return row, err
	}
	if row.next >= s.bound.Load() {
		if _, err := s.find(ctx, s.meta.Load()); err != nil { // somebody may have widened the column
			return row, err
		}
	}
	bound, wider := s.bound.Load(), "; use a wider column"
	if bound == math.MaxInt64 {
		wider = ", where numbers end"
	}
	if row.next >= bound {
		return row, fmt.Errorf("%w: tag %q: max_id in table %v is %d, and its column holds %d at most%s",
			segment.ErrExhausted, tag, s.table, row.next, bound, wider)
	}
	return row, nil
}

// changed makes an UPDATE of a tag, which may be one that must not be done twice, and returns what
// [Dialect.Changed] says.
func (s *Store) changed(ctx context.Context, once bool, update string,
	v values,
) ([][]string, error) {
	all := s.dialect.Changed(update)
	for i, text := range all {
		all[i] = s.write(text, v)
	}
	if once {
		return s.db.Once(ctx, statements(all))
	}
	return s.transact(ctx, true, all...)
}

// GiveBack implements [segment.Store]. It is sent once.
func (s *Store) GiveBack(ctx context.Context, tag string,
	unused segment.Range,
) (done bool, err error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckUnused(unused)); err != nil {
		return false, err
	}
	s.given.back(tag, unused) // whatever becomes of it, its numbers are used here no more
	err = s.once(ctx, func(ctx context.Context) (err error) {
		done, err = s.putBack(ctx, tag, unused)
		return err
	})
	return done, err
}

// putBack makes a range the next one, unless somebody has taken one since.
func (s *Store) putBack(ctx context.Context, tag string,
	unused segment.Range,
) (done bool, err error) {
	rows, err := s.changed(ctx, true, "UPDATE {table} SET max_id = $TO WHERE biz_tag = $TAG AND "+
		"max_id = $FROM AND {identity} = $IDENTITY", values{
		"$TO": unused.First, "$TAG": tag, "$FROM": unused.Last + 1,
		"$IDENTITY": s.expected(tag).identity, "$SIZE": 0,
	})
	return err == nil && rows[0][0] == "1", err
}

// Close implements [segment.Store].
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.finish()
		s.closed = s.db.Close()
	})
	return s.closed
}

// Warnings implements [segment.Warner].
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

// racePause is between attempts after a dead lock.
const racePause = 5 * time.Millisecond

// call runs f, which may be tried again if the server says that nothing was done.
func (s *Store) call(ctx context.Context, f func(ctx context.Context) error) error {
	for {
		err := s.once(ctx, f)
		if err == nil || s.db.Class(err) != sqldb.Race || ctx.Err() != nil {
			return err
		}
		pause := time.NewTimer(racePause + rand.N(racePause))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// once runs f on a server that was looked at, until ctx or the store ends.
func (s *Store) once(ctx context.Context, f func(ctx context.Context) error) error {
	if s.done.Err() != nil {
		return segment.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.done, func() { cancel(segment.ErrClosed) })()
	err := s.check.Do(ctx, func(ctx context.Context) error {
		err := s.look(ctx)
		if err == nil {
			err = f(ctx)
		}
		return s.explain(err)
	})
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// missing is the error of a table that is not there.
func (s *Store) missing() error {
	return fmt.Errorf("%w: table %v is missing; have somebody run:\n%s;\n%s",
		segment.ErrInvalidConfig, s.table, s.schemaText(), s.grants())
}

// explain adds what to do to an error of a server.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	switch s.db.Class(err) {
	case sqldb.NoTables:
		return fmt.Errorf("%w\n%w", s.missing(), err)
	case sqldb.Misfit:
		return fmt.Errorf("%w: table %v does not have the columns that it has to have; compare it "+
			"with:\n%s;\n%w", segment.ErrInvalidConfig, s.table, s.schemaText(), err)
	case sqldb.Denied:
		return fmt.Errorf("%w: the user needs SELECT, INSERT and UPDATE on table %v and on %s "+
			"beside it: %w", segment.ErrInvalidConfig, s.table, metaName, err)
	case sqldb.ReadOnly:
		return fmt.Errorf("the server is read-only, as a replica is; name the one that is written to: %w",
			err)
	case sqldb.Refused:
		return fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	return err
}

// newStamp is one above those of some marks, which another program will hardly draw as well.
func newStamp(above ...mark) (stamp int64) {
	for _, m := range above {
		stamp = max(stamp, m.stamp)
	}
	return stamp + 1 + rand.Int64N(1<<30)
}

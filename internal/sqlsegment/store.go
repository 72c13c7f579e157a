package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// Options are those of the drivers.
type Options struct {
	// Table is the name of the table, or schema.table. Empty: leaf_alloc.
	Table string
	// RequireDurable refuses a server that may lose what it has confirmed. Otherwise it is a warning.
	RequireDurable bool
	// Skip is what is added to every tag when the server is another one than before, as after a failover.
	// 0: refills stop then with segment.ErrStoreChanged until somebody has advanced the tag.
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

	done   context.Context // ends with Close
	finish context.CancelFunc
	bound  atomic.Int64 // the largest number that max_id can hold
	looked atomic.Bool  // what follows is known

	looking  chan struct{} // has one while look is under way
	meta     atomic.Bool   // our own table is there
	given    given
	mu       sync.Mutex
	stepMost int64
	base     mark            // that of all tags
	own      map[string]mark // of tags that were advanced on another server than that
	warnings []string
	closing  sync.Once
	closed   error
}

var (
	_ segment.Store   = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
	_ segment.Warner  = (*Store)(nil)
)

// New returns a store. It contacts nobody.
func New(db DB, d Dialect, o Options) (*Store, error) {
	t, err := parseTable(cmp.Or(o.Table, DefaultTable))
	if err := cmp.Or(err, CheckSkip(o.Skip)); err != nil {
		return nil, err
	}
	s := &Store{db: db, dialect: d, table: t, opts: o, log: logs.Or(o.Logger), own: map[string]mark{}, looking: make(chan struct{}, 1)}
	s.done, s.finish = context.WithCancel(context.Background())
	return s, nil
}

// CheckSkip returns an error unless a number is one that a store can add to every tag after a failover; 0: none is added.
func CheckSkip(n int64) error {
	if n < 0 || n > segment.MaxStep {
		return fmt.Errorf("%w: Skip is %d; 0 or a number up to %d is allowed", segment.ErrInvalidConfig, n, int64(segment.MaxStep))
	}
	return nil
}

// parseTable reads the name of a table.
func parseTable(s string) (t table, err error) {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if part == "" || len(part) > 63 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") != "" || len(parts) > 2 {
			return t, fmt.Errorf("%w: the table is %q; it is a name, or schema.name, of letters, digits, _ and $, 63 at most each", segment.ErrInvalidConfig, s)
		}
	}
	t.name = parts[len(parts)-1]
	if len(parts) == 2 {
		t.schema = parts[0]
	}
	return t, nil
}

// tries is how often a take that has changed nothing, for no reason that can be seen, is tried again.
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
	if step == 0 {
		row, err := s.read(ctx, tag)
		if err != nil {
			return segment.Range{}, err
		}
		if step = row.step; row.stepDamage != nil {
			return segment.Range{}, row.stepDamage
		}
	}
	if err := s.stillBelow(ctx, tag); err != nil {
		return segment.Range{}, err
	}
	for range tries {
		if most := s.bound.Load() - step; most >= 0 {
			floor := s.given.floor(tag)
			next, done, err := s.ask(ctx, tag, step, most)
			if err != nil {
				return segment.Range{}, err
			}
			if done {
				r := segment.Range{First: next - step, Last: next - 1}
				return r, s.given.note(tag, r, floor)
			}
		}
		left, err := s.why(ctx, tag)
		if err != nil {
			return segment.Range{}, err
		}
		step = min(step, left)
	}
	return segment.Range{}, fmt.Errorf("a range of tag %q was not taken in %d attempts, and nothing says why", tag, tries)
}

// stillBelow returns an error while the next number of a tag is not above what was handed out here, if that was so before. Taking a range
// to find out would raise it, until it is above these and not above what others have.
func (s *Store) stillBelow(ctx context.Context, tag string) error {
	f := s.given.floor(tag)
	if !f.below {
		return nil
	}
	row, err := s.read(ctx, tag)
	if err == nil && row.next <= f.last {
		err = cmp.Or(row.nextDamage, error(&segment.WentBackError{Tag: tag, Got: segment.Range{First: row.next, Last: row.next}, Above: f.last}))
	}
	return err
}

// ask sends the statement of a take. Without our own table, what others have recorded since this program began is not noticed.
func (s *Store) ask(ctx context.Context, tag string, step, most int64) (next int64, done bool, err error) {
	was := s.expected(tag)
	with := func(newer string) (int64, bool, error) {
		statement := strings.ReplaceAll(s.dialect.Take, "{newer}", newer)
		return s.db.Take(ctx, s.write(statement, "$STEP", num(step), "$MOST", num(most), "$TAG", s.text(tag),
			"$IDENTITY", s.text(was.identity), "$ALL", s.text(s.key("")), "$STAMP", num(was.stamp)))
	}
	if s.meta.Load() {
		if next, done, err = with(s.dialect.Newer); err == nil || !errors.Is(s.without(err), errNoMeta) {
			return next, done, err
		}
	}
	next, done, err = with("1 = 1")
	if err == nil && s.meta.Swap(false) {
		s.log.Warn("table "+metaName+" is gone, or may not be read any more, so that it is not noticed what others say of the server", "table", s.table.String())
	}
	return next, done, err
}

// OneRow returns an error unless one row was changed, or none. A database calls it with how many were.
func OneRow(changed int64) error {
	if changed <= 1 {
		return nil
	}
	return fmt.Errorf("%w: the table has %d rows of the tag, so that ranges would be handed out twice; delete all but the one with the highest max_id, and make biz_tag the primary key",
		segment.ErrInvalidConfig, changed)
}

// why finds out why nothing was taken. If that is over it returns how many numbers are left.
func (s *Store) why(ctx context.Context, tag string) (left int64, err error) {
	row, err := s.read(ctx, tag)
	switch {
	case err != nil:
		return 0, err
	case row.unsafe != "":
		return 0, fmt.Errorf("%w: %s", segment.ErrInvalidConfig, row.unsafe)
	case row.nextDamage != nil:
		return 0, row.nextDamage
	}
	if err := s.moved(ctx, row.tag, tag, row.here); err != nil {
		return 0, err
	}
	if row.next >= s.bound.Load() {
		if err := s.readTypes(ctx); err != nil { // somebody may have widened the column
			return 0, err
		}
	}
	if left = s.bound.Load() - row.next; left <= 0 {
		return 0, fmt.Errorf("%w: tag %q: max_id in table %v is %d, and its column holds %d at most; use a wider column", segment.ErrExhausted, tag, s.table, row.next, s.bound.Load())
	}
	return left, nil
}

// GiveBack implements [segment.Store]. It is one transaction of several messages, because there are proxies that
// send a single statement again by themselves, and it is not tried again.
func (s *Store) GiveBack(ctx context.Context, tag string, unused segment.Range) (done bool, err error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckUnused(unused)); err != nil {
		return false, err
	}
	s.given.back(tag, unused) // whatever becomes of it, its numbers are used here no more
	err = s.once(ctx, func(ctx context.Context) error {
		return s.db.Transact(ctx, func(exec Exec) error {
			n, err := exec(s.write("UPDATE {table} SET max_id = $TO WHERE biz_tag = $TAG AND max_id = $FROM AND {identity} = $IDENTITY",
				"$TO", num(unused.First), "$TAG", s.text(tag), "$FROM", num(unused.Last+1), "$IDENTITY", s.text(s.expected(tag).identity)))
			done = n == 1
			return err
		})
	})
	return done && err == nil, err
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
	err := s.look(ctx)
	if err == nil {
		err = f(ctx)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return s.explain(err)
}

// explain adds what to do to an error of a server.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	switch s.db.Class(err) {
	case sqldb.NoTables:
		return fmt.Errorf("%w: table %v is missing; have somebody run:\n%s;\n%w", segment.ErrInvalidConfig, s.table, s.schemaText(), err)
	case sqldb.Denied:
		return fmt.Errorf("%w: the user needs SELECT, INSERT and UPDATE on table %v and on %s beside it: %w", segment.ErrInvalidConfig, s.table, metaName, err)
	case sqldb.ReadOnly:
		return fmt.Errorf("the server is read-only, as a replica is; name the one that is written to: %w", err)
	case sqldb.Refused:
		return fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	return err
}

func (s *Store) text(v string) string { return s.dialect.Text(v) }

func num(n int64) string { return strconv.FormatInt(n, 10) }

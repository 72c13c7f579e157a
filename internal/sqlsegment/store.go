package sqlsegment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/tagcheck"
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
	// failover. 0: refills stop then with segment.ErrStoreChanged until somebody has raised all tags.
	Skip int64
	// Servers are the identities of servers each of which has all that any of them has confirmed, as
	// those of a Galera cluster: a change from one to another is none. Empty: there is one server.
	Servers []string
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
	// The identity of several servers that are one, because each has all that any of them has
	// confirmed: Options.Servers, sorted.
	group string
	// An expression: the server, or group if it is one of them.
	identity string

	done     context.Context // ends with Close
	finish   context.CancelFunc
	looking  chan struct{} // has one while looked is in use
	looked   bool          // the server was looked at
	bound    atomic.Int64  // the largest number that max_id can hold
	stepMost atomic.Int64  // the largest number that step can hold
	given    given

	mu       sync.Mutex
	record   record           // as it was last found to be right
	own      map[string]int64 // stamps of marks of tags that are right, and newer than the record
	warnings []string
	closing  func() error
}

var (
	_ segment.Store    = (*Store)(nil)
	_ segment.Creator  = (*Store)(nil)
	_ segment.Advancer = (*Store)(nil)
	_ segment.Warner   = (*Store)(nil)
	_ segment.Clock    = (*Store)(nil)
	_ segment.Pruner   = (*Store)(nil)
)

// New returns a store in a database. It contacts nobody.
func New(db DB, d Dialect, o Options) (*Store, error) {
	t, err := parseTable(cmp.Or(o.Table, DefaultTable))
	if err := cmp.Or(err, tagcheck.Skip(o.Skip)); err != nil {
		return nil, err
	}
	if err := db.Check(); err != nil {
		return nil, invalid("%w", err)
	}
	o.Servers = slices.Compact(slices.Sorted(slices.Values(o.Servers)))
	group := strings.Join(o.Servers, ",")
	if n := len(group); n > 400 {
		return nil, invalid("the names of the servers have %d characters together; 400 at most", n)
	}
	s := &Store{
		db: db, dialect: d, table: t, opts: o, log: logs.Or(o.Logger), own: map[string]int64{},
		looking: make(chan struct{}, 1), group: group, identity: d.Lineage,
		given: given{tags: map[string]floor{}}, closing: sync.OnceValue(db.Close),
	}
	if len(o.Servers) > 0 {
		var names []string
		for _, name := range o.Servers {
			names = append(names, d.Text(name))
		}
		s.identity = fmt.Sprintf("CASE WHEN %s IN (%s) THEN %s ELSE %s END", d.Lineage,
			strings.Join(names, ", "), d.Text(group), d.Lineage)
	}
	s.done, s.finish = context.WithCancel(context.Background())
	return s, nil
}

// tableName is the name of a table.
var tableName = regexp.MustCompile(`^(?:([\w$]{1,63})\.)?([\w$]{1,63})$`)

// parseTable reads the name of a table.
func parseTable(s string) (table, error) {
	m := tableName.FindStringSubmatch(s)
	if m == nil {
		return table{}, invalid("the table is %q; it is a name, or schema.name, of letters, "+
			"digits, _ and $, 63 at most each", s)
	}
	return table{m[1], m[2]}, nil
}

// Close implements [segment.Store].
func (s *Store) Close() error {
	s.finish()
	return s.closing()
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
		if !lifetime.Sleep(ctx, racePause+rand.N(racePause)) {
			return err
		}
	}
}

// once runs f on a server that was looked at, until ctx or the store ends.
func (s *Store) once(ctx context.Context, f func(ctx context.Context) error) error {
	if s.done.Err() != nil {
		return segment.ErrClosed
	}
	if ctx.Err() != nil {
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
	return invalid("table %v, or %s beside it, is missing; have somebody run:\n%s", s.table, metaName,
		s.setup())
}

// explain adds what to do to an error of a server.
func (s *Store) explain(err error) error {
	switch s.db.Class(err) {
	case sqldb.NoTables:
		return fmt.Errorf("%w\n%w", s.missing(), err)
	case sqldb.Misfit:
		return invalid("table %v does not have the columns that it has to have; compare it "+
			"with:\n%s;\n%w", s.table, s.schemaText(), err)
	case sqldb.Denied:
		return invalid("the user may not do what is needed on table %v and on %s beside it; have "+
			"somebody run:\n%s\n%w", s.table, metaName, s.setup(), err)
	case sqldb.ReadOnly:
		return fmt.Errorf("the server is read-only, as a replica is; name the one that is written to: %w",
			err)
	case sqldb.Refused:
		return invalid("%w", err)
	}
	return err
}

// invalid returns an error that wraps [segment.ErrInvalidConfig].
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", segment.ErrInvalidConfig, fmt.Errorf(format, args...))
}

package sqlstore

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

const (
	// MinTTL is the shortest TTL.
	MinTTL = time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of data it is
	// all that is known of the windows that were lost.
	MaxHorizon = 2 * time.Minute
	// DefaultSkewBound is how far a newcomer's clock may be from the server's.
	DefaultSkewBound = time.Second
	// DefaultPrefix begins the names of the tables.
	DefaultPrefix = "unalike_"
	// MaxCapacity is how many worker IDs a namespace can have: a row is made for each.
	MaxCapacity = 1 << 16
)

// Options are those that drivers have in common.
type Options struct {
	Lease     coord.LeaseConfig
	SkewBound time.Duration
	Prefix    string
	Accept    []string
	Clock     clock.Clock
	Logger    *slog.Logger
}

// prefixes are the prefixes that need no quotes in any dialect.
var prefixes = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,30}$`)

// Resolve fills in defaults and checks the options.
func (o Options) Resolve() (Options, error) {
	if err := lifetime.Resolve(o.Lease, &o.SkewBound, &o.Clock, &o.Logger, MaxHorizon,
		DefaultSkewBound); err != nil {
		return o, err
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !prefixes.MatchString(o.Prefix) {
		return o, invalid.Errorf("Prefix is %q; it is 1 to 31 lower case letters, digits and "+
			"underscores, and does not begin with a digit", o.Prefix)
	}
	return o, nil
}

// NewStore returns the store of a namespace.
func NewStore(db DB, d Dialect, namespace string, o Options) protocol.Store {
	return &store{
		db: db, dialect: d, namespace: namespace, prefix: o.Prefix, accept: o.Accept,
		log: o.Logger, names: d.names(o.Prefix), making: make(chan struct{}, 1),
	}
}

// Close implements [io.Closer] for the coordinator. It leaves a pool that was made elsewhere as it
// is.
func (s *store) Close() error {
	if db, ok := s.db.(Database); ok {
		return db.Close()
	}
	return nil
}

// store implements [protocol.Store].
type store struct {
	db                DB
	dialect           Dialect
	namespace, prefix string
	accept            []string // names of risks
	log               *slog.Logger
	names             *strings.Replacer
	warned            sync.Once // of the risks that are accepted

	making     chan struct{} // has one while somebody makes the tables, and sets madeTables
	madeTables time.Time     // monotonic

	protocol.ServerClock

	mu    sync.Mutex
	tally tally
}

// session is the store, as one token sees it.
type session struct {
	*store
	protocol.Timed
	ttl time.Duration
}

// Open implements [protocol.Store].
func (s *store) Open(_ string, ttl time.Duration, _ int) (protocol.Session, error) {
	return &session{s, protocol.NewTimed(), ttl}, nil
}

// Rest implements [protocol.Rester].
func (s *store) Rest() { s.db.Rest() }

// stmt is a statement about the namespace, which is its first argument.
func (s *store) stmt(sql string, args ...any) Statement {
	return Statement{SQL: s.names.Replace(sql), Args: append([]any{s.namespace}, args...)}
}

// transact makes statements in one transaction, and reads what the last one tells. One that writes
// is followed by another that puts back what was deleted of the history, if that shows.
func (s *store) transact(ctx context.Context, write bool,
	statements ...Statement,
) (*answer, error) {
	sent := lifetime.Now()
	all, err := s.db.Transact(ctx, write, statements)
	if err != nil {
		return nil, err
	}
	a, err := s.read(all, sent)
	if err == nil && write && a.emptied {
		err = s.noteEmptied(ctx)
	}
	return a, err
}

// view is the statement that reads a worker ID, and with -1 the namespace alone.
func (s *store) view(worker int) Statement {
	if worker < 0 {
		return s.stmt(moment + namespaceRow)
	}
	return s.stmt(moment+namespaceRow+slotRows+` AND worker = $2`, worker)
}

// touch is the statement with which a transaction that reads is one that writes: what an
// earlier one has left that was not confirmed is confirmed with this one.
func (s *store) touch(worker int) Statement { return s.stmt(s.dialect.Touch, worker) }

// Look implements [protocol.Session]: what it finds done counts as confirmed.
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	return s.look(ctx, worker, true, s.touch(worker), s.view(worker))
}

// look reads a view with the last of some statements.
func (s *session) look(ctx context.Context, worker int, write bool,
	statements ...Statement,
) (*protocol.View, error) {
	a, err := s.transact(ctx, write, statements...)
	switch {
	case s.db.Class(err) == sqldb.NoTables:
		return &protocol.View{}, nil
	case err != nil:
		return nil, s.explain(err)
	}
	return s.viewOf(a, worker)
}

// some reads the rows of some worker IDs.
func (s *store) some(ctx context.Context, workers []int) (*answer, error) {
	list := "-1"
	for _, id := range workers {
		list += "," + strconv.Itoa(id)
	}
	return s.transact(ctx, false, s.stmt(moment+slotRows+" AND worker IN ("+list+")"))
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	a, err := s.some(ctx, workers)
	if err != nil {
		return nil, s.explain(err)
	}
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		n := slices.IndexFunc(a.rows, func(r row) bool { return r.worker == id })
		if n < 0 {
			out[i].Err = invalid.Errorf("worker ID %d of namespace %q has no row in %sslots, which was "+
				"made with the namespace", id, s.namespace, s.prefix)
			continue
		}
		out[i].Slot, out[i].Err = s.slot(a.rows[n])
	}
	return out, nil
}

// askedAtOnce is of how many holders the records are read for an error message.
const askedAtOnce = 32

// Leases implements [protocol.Session]. The first of the holders are those whose leases end first.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) (out []protocol.Lease) {
	var ids []int
	for _, h := range holders[:min(len(holders), askedAtOnce)] {
		ids = append(ids, h.Worker)
	}
	a, err := s.some(ctx, ids)
	if err != nil {
		return nil
	}
	for _, r := range a.rows {
		if slot, err := s.slot(r); err == nil && r.note != "" && r.ends > a.now {
			out = append(out, protocol.Lease{
				Worker: r.worker, Renewed: slot.Record.Renewed,
				TTL:  slot.Record.Lease(),
				Left: time.Duration(r.ends-a.now) * time.Microsecond,
			})
		}
	}
	return out
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	sql := moment + namespaceRow
	if slots {
		sql += slotRows + ` ORDER BY worker`
	}
	a, err := s.transact(ctx, false, s.stmt(sql))
	if s.db.Class(err) == sqldb.NoTables {
		return &protocol.Listing{}, nil
	}
	if err != nil {
		return nil, s.explain(err)
	}
	l := &protocol.Listing{Position: a.Position, Meta: a.meta}
	for _, r := range a.rows {
		if r.ends > a.now {
			l.Owned = append(l.Owned, r.worker)
		}
		switch e, err := s.slot(r); {
		case err != nil:
			l.Unreadable = append(l.Unreadable, err)
		case e.There():
			l.Slots = append(l.Slots, e.Record)
		}
	}
	if !a.meta.There() && len(a.rows) > 0 {
		return nil, s.noNamespace()
	}
	return l, nil
}

// Watch implements [protocol.Session].
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	worker := v.Slot.Record.Worker
	return s.WatchByLooking(ctx, s.ttl, v, func(ctx context.Context) (*protocol.View, error) {
		return s.look(ctx, worker, false, s.view(worker))
	})
}

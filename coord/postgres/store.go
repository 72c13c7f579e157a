package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store implements [protocol.Store].
type store struct {
	db        *pgxpool.Pool
	namespace string

	mu     sync.Mutex
	server int64 // the server's clock, when it was learned
	at     time.Time
}

// session is the store, as one token sees it. There is nothing to end: leases end by the
// server's clock.
type session struct {
	*store
	ttl  time.Duration
	life context.Context //nolint:containedctx // it is ended by End
	end  context.CancelFunc
}

// Open implements [protocol.Store].
func (s *store) Open(_ string, ttl time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{s, ttl, life, end}, nil
}

func (s *session) Over() error { return s.life.Err() }
func (s *session) End()        { s.end() }

// Holds implements [protocol.Session]: a lease is a column, which any session keeps alive.
func (s *session) Holds(v *protocol.View) bool { return v.Owned }

// Time implements [protocol.Session].
func (s *store) Time() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == 0 {
		return 0
	}
	return s.server + time.Since(s.at).Microseconds()
}

// moment is what each answer tells of the server: its clock, the log that is safe on its
// disk, and its history. A standby has no such log and says so.
const moment = `WITH moment AS MATERIALIZED (SELECT
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
  (pg_current_wal_flush_lsn() - '0/0')::bigint AS written,
  (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) AS lineage)
`

// answer is what [moment] and the namespace's row say.
type answer struct {
	protocol.Position
	now    int64
	meta   protocol.Entry[protocol.Meta]
	origin string
}

// row is a record as it is stored; made is nil if there is none.
type row struct {
	made, version, stamp *int64
	record               *string
}

func (r *row) fields() []any { return []any{&r.made, &r.version, &r.stamp, &r.record} }

// entry decodes a row. Its raw value is the stamp and the record.
func entry[R protocol.Record](r row, what string) (protocol.Entry[R], error) {
	if r.made == nil {
		return protocol.Entry[R]{}, nil
	}
	record, err := protocol.Decode[R]([]byte(*r.record))
	if err != nil {
		return protocol.Entry[R]{}, fmt.Errorf("%w: %s is damaged: %w", coord.ErrInvalid, what, err)
	}
	return protocol.Entry[R]{Record: record, Raw: raw(*r.stamp, *r.record), Made: *r.made, Version: *r.version}, nil
}

func raw(stamp int64, record string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(stamp)), record...)
}

// stampOf is the stamp of an entry; 0: it is not there.
func stampOf[R protocol.Record](e protocol.Entry[R]) int64 {
	if len(e.Raw) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(e.Raw))
}

// scan reads an answer, and more columns that follow it.
func (s *store) scan(r pgx.Row, more ...any) (*answer, error) {
	a := &answer{}
	var meta row
	var origin *string
	dest := append([]any{&a.now, &a.Number, &a.Lineage, &origin}, meta.fields()...)
	if err := r.Scan(append(dest, more...)...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.server, s.at = a.now, time.Now() //nolint:forbidigo // measures how much time passes
	s.mu.Unlock()
	if origin != nil {
		a.origin = *origin
	}
	var err error
	a.meta, err = entry[protocol.Meta](meta, fmt.Sprintf("the row of namespace %q in unalike_namespaces", s.namespace))
	return a, err
}

// fromNamespace is the columns that [store.scan] reads first.
const fromNamespace = `SELECT moment.now, moment.written, moment.lineage, n.lineage, n.made, n.version, n.stamp, n.record`

// query makes one statement in one round trip, without preparing it: a pooler between us
// and the server may have another connection for the next one.
func (s *store) query(ctx context.Context, sql string, args ...any) pgx.Row {
	return s.db.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
}

const surveySQL = moment + fromNamespace + `,
  coalesce((SELECT worker FROM unalike_slots WHERE namespace = $1 AND token = $2 AND token <> ''), -1),
  coalesce((SELECT worker FROM unalike_identities WHERE namespace = $1 AND identity = $3), -1),
  l.made, l.version, l.stamp, l.record,
  EXISTS (SELECT 1 FROM unalike_slots WHERE namespace = $1),
  coalesce((SELECT string_agg(worker || ' ' || version || ' ' || (token = '')::int, ',' ORDER BY worker) FROM unalike_slots
    WHERE namespace = $1 AND lease_ends > moment.now AND worker >= $4 AND worker < $5), '')
FROM moment LEFT JOIN unalike_namespaces n ON n.namespace = $1
LEFT JOIN unalike_slots l ON l.namespace = $1 AND l.worker = (SELECT worker FROM unalike_identities WHERE namespace = $1 AND identity = $3)`

// Survey implements [protocol.Session].
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	sv, err := s.survey(ctx, ask)
	switch {
	case noTables(err):
		if ask.New == nil {
			return &protocol.Survey{Worker: -1, Last: -1}, nil
		}
		if err := s.makeTables(ctx); err != nil {
			return nil, err
		}
		sv, err = s.survey(ctx, ask)
	}
	if err != nil || sv.Meta.There() || ask.New == nil {
		return sv, err
	}
	if sv.Slots > 0 {
		return nil, fmt.Errorf("%w: namespace %q has slots in unalike_slots and no row in unalike_namespaces", coord.ErrInvalid, s.namespace)
	}
	record, err := protocol.Encode(ask.New(sv.Server))
	if err != nil {
		return nil, err
	}
	tag, err := s.db.Exec(ctx, moment+`INSERT INTO unalike_namespaces SELECT $1, moment.now, 1, $2, $3, moment.lineage FROM moment ON CONFLICT DO NOTHING`,
		pgx.QueryExecModeExec, s.namespace, newStamp(), record)
	if err != nil {
		return nil, err
	}
	sv, err = s.survey(ctx, ask)
	if err == nil {
		sv.Made = tag.RowsAffected() == 1
	}
	return sv, err
}

// survey makes one survey, and makes no namespace.
func (s *session) survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	from, to := ask.Share.First, ask.Share.First+ask.Share.Count
	if ask.Share.Count == 0 {
		to = 1 << 30
	}
	sv := &protocol.Survey{Unit: 1}
	var last row
	var owned string
	var slots bool
	more := append([]any{&sv.Worker, &sv.Last}, last.fields()...)
	a, err := s.scan(s.query(ctx, surveySQL, s.namespace, ask.Token, ask.Identity, from, to), append(more, &slots, &owned)...)
	if err != nil {
		return nil, err
	}
	sv.Position, sv.Meta, sv.Origin, sv.Server = a.Position, a.meta, a.origin, a.now
	if slots {
		sv.Slots = 1
	}
	if sv.LastSlot, err = entry[protocol.Slot](last, s.slotName(sv.Last)); err != nil {
		return nil, err
	}
	return sv, readOwned(sv, owned)
}

// readOwned reads who holds what: worker ID, version of its slot, and 1 if it is retired.
func readOwned(sv *protocol.Survey, owned string) error {
	for len(owned) > 0 {
		var id, retired int
		var version int64
		n := 0
		for n < len(owned) && owned[n] != ',' {
			n++
		}
		if _, err := fmt.Sscanf(owned[:n], "%d %d %d", &id, &version, &retired); err != nil {
			return err
		}
		sv.Owned = append(sv.Owned, id)
		if retired == 1 {
			sv.Retired++
		} else {
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: id, Changed: version})
		}
		owned = owned[min(n+1, len(owned)):]
	}
	return nil
}

func (s *store) slotName(worker int) string {
	return "the row of worker ID " + strconv.Itoa(worker) + " of namespace " + strconv.Quote(s.namespace) + " in unalike_slots"
}

const viewSQL = moment + fromNamespace + `, s.made, s.version, s.stamp, s.record, coalesce(s.lease_ends > moment.now, false)
FROM moment LEFT JOIN unalike_namespaces n ON n.namespace = $1 LEFT JOIN unalike_slots s ON s.namespace = $1 AND s.worker = $2`

// Look implements [protocol.Session].
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	v, err := s.readView(s.query(ctx, viewSQL, s.namespace, worker), worker)
	if noTables(err) {
		return &protocol.View{}, nil
	}
	return v, err
}

func (s *store) readView(r pgx.Row, worker int) (*protocol.View, error) {
	var slot row
	v := &protocol.View{}
	a, err := s.scan(r, append(slot.fields(), &v.Owned)...)
	if err != nil {
		return nil, err
	}
	v.Position, v.Meta = a.Position, a.meta
	v.Slot, err = s.slot(slot, worker)
	return v, err
}

// slot decodes the row of a worker ID.
func (s *store) slot(r row, worker int) (protocol.Entry[protocol.Slot], error) {
	e, err := entry[protocol.Slot](r, s.slotName(worker))
	if err == nil && e.There() && e.Record.Worker != worker {
		err = fmt.Errorf("%w: %s is that of worker ID %d", coord.ErrInvalid, s.slotName(worker), e.Record.Worker)
	}
	return e, err
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	rows, err := s.db.Query(ctx, `SELECT worker, made, version, stamp, record FROM unalike_slots WHERE namespace = $1 AND worker = ANY($2)`,
		pgx.QueryExecModeExec, s.namespace, workers)
	if err != nil {
		return nil, err
	}
	found := map[int]protocol.Probe{}
	for rows.Next() {
		var id int
		var r row
		if err := rows.Scan(append([]any{&id}, r.fields()...)...); err != nil {
			return nil, err
		}
		var p protocol.Probe
		p.Slot, p.Err = s.slot(r, id)
		found[id] = p
	}
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		out[i] = found[id]
	}
	return out, rows.Err()
}

// Leases implements [protocol.Session].
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) (out []protocol.Lease) {
	ids := make([]int, len(holders))
	for i, h := range holders {
		ids[i] = h.Worker
	}
	rows, err := s.db.Query(ctx, moment+`SELECT s.worker, s.lease_ends, s.lease_ends - moment.now, s.record FROM moment, unalike_slots s
WHERE s.namespace = $1 AND s.worker = ANY($2) AND s.lease_ends > moment.now AND s.token <> ''`, pgx.QueryExecModeExec, s.namespace, ids)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var l protocol.Lease
		var ends, left int64
		var record string
		if rows.Scan(&l.Worker, &ends, &left, &record) != nil {
			continue
		}
		if slot, err := protocol.Decode[protocol.Slot]([]byte(record)); err == nil {
			l.Mark, l.Left, l.Renewed, l.TTL = strconv.FormatInt(ends, 10), time.Duration(left)*time.Microsecond, slot.Renewed, slot.Lease()
			out = append(out, l)
		}
	}
	return out
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	l := &protocol.Listing{}
	a, err := s.scan(s.query(ctx, moment+fromNamespace+` FROM moment LEFT JOIN unalike_namespaces n ON n.namespace = $1`, s.namespace))
	if noTables(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	l.Position, l.Meta = a.Position, a.meta
	if !slots {
		return l, nil
	}
	rows, err := s.db.Query(ctx, `SELECT worker, made, version, stamp, record, lease_ends > $2 FROM unalike_slots WHERE namespace = $1 ORDER BY worker`,
		pgx.QueryExecModeExec, s.namespace, a.now)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var r row
		var owned bool
		if err := rows.Scan(append(append([]any{&id}, r.fields()...), &owned)...); err != nil {
			return nil, err
		}
		if owned {
			l.Owned = append(l.Owned, id)
		}
		if e, err := s.slot(r, id); err != nil {
			l.Unreadable = append(l.Unreadable, err)
		} else {
			l.Slots = append(l.Slots, e.Record)
		}
	}
	return l, rows.Err()
}

// looks is how often a watch looks within a TTL: about as often as a holder renews.
const looks = 3

// Watch implements [protocol.Session]. It asks again and again: a connection that listens
// would be one for each holder, and a pooler passes nothing on.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	look := time.NewTicker(s.ttl / looks)
	defer look.Stop()
	worker := v.Slot.Record.Worker
	for {
		if now, err := s.Look(ctx, worker, ""); err == nil && !(now.Owned && now.Slot.Record.Holds(v.Slot.Record.Token, v.Slot.Record.Generation)) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-s.life.Done():
			return false
		case <-look.C:
		}
	}
}

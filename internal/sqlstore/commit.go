package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// newStamp returns a random stamp; 0 is that of a row that was never written.
func newStamp() int64 { return rand.Int64N(math.MaxInt64-1) + 1 }

// forever is when the lease of a retired worker ID ends.
const forever = math.MaxInt64

const (
	// writeSlot is followed by what becomes of token and lease, and by asRead and whether
	// there was an owner mark.
	writeSlot = `UPDATE {slots} SET made = CASE WHEN made = 0 THEN {now} ELSE made END,
  version = version + 1, stamp = $5, record = $6`
	asRead = ` WHERE namespace = $1 AND worker = $7 AND version = $8 AND stamp = $9 AND record = $10
  AND EXISTS (SELECT 1 FROM {namespaces} n WHERE n.namespace = $1 AND n.version = $2
  AND n.stamp = $3 AND n.record = $4)`

	writeMeta = `UPDATE {namespaces} SET version = version + 1, stamp = $5, record = $6
WHERE namespace = $1 AND version = $2 AND stamp = $3 AND record = $4`
	unused = ` AND NOT EXISTS (SELECT 1 FROM {slots} s WHERE s.namespace = $1 AND s.version > 0)`

	noteLineage = `UPDATE {namespaces} SET lineage = {lineage} WHERE namespace = $1
  AND (stamp = $2 OR EXISTS (SELECT 1 FROM {slots} s WHERE s.namespace = $1 AND s.worker = $3
  AND s.stamp = $2))`

	// An owner mark whose lease is over is deleted when its token wants another worker ID.
	forget = `UPDATE {slots} SET token = NULL WHERE namespace = $1 AND token = $2
  AND lease_ends <= {now}`
)

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	worker, stamp := change.Worker(), newStamp()
	statements, err := s.statements(change, worker, stamp)
	if err != nil {
		return protocol.Outcome{}, err
	}
	before := s.tallied()
	a, err := s.transact(ctx, true, statements...)
	switch s.db.Class(err) {
	case sqldb.Race:
		return protocol.Outcome{Conflict: protocol.ConflictElsewhere}, nil
	case sqldb.Duplicate: // the token leads to another worker ID
		_, err := s.db.Transact(ctx, true, []Statement{s.stmt(forget, change.Token), s.view(worker)})
		return protocol.Outcome{Conflict: protocol.ConflictElsewhere}, s.explain(err)
	}
	if err != nil {
		return protocol.Outcome{}, s.explain(err)
	}
	now, err := s.viewOf(a, worker)
	if err != nil {
		return protocol.Outcome{}, err
	}
	meta, _ := stored(now.Meta)
	slot, _ := stored(now.Slot)
	out := protocol.Outcome{Position: now.Position, Done: meta == stamp || slot == stamp, Now: now}
	if asked := change.Before; !out.Done && worker >= 0 && same(now.Meta, asked.Meta) &&
		(!same(now.Slot, asked.Slot) || now.Owned != asked.Owned) {
		out.Conflict = protocol.ConflictSlot
	}
	if out.Done && change.Owner == protocol.OwnerTaken {
		if n := s.undone(before, a, 1); n > 0 {
			now.Origin = missing(now.Origin, n, "writes")
		}
	}
	return out, nil
}

// same reports whether two entries are of the same write.
func same[R protocol.Record](a, b protocol.Entry[R]) bool {
	return a.Version == b.Version && bytes.Equal(a.Raw, b.Raw)
}

// statements are those that make a change, which has a stamp. The last reads what is stored
// then.
func (s *session) statements(change protocol.Change, worker int, stamp int64) ([]Statement, error) {
	//mutant:sql-held
	lock := s.dialect.Shared // no floor is raised until the end of the transaction
	if change.Meta != nil || change.NoteLineage {
		lock = s.dialect.Exclusive
	}
	all := []Statement{s.stmt(lock)}
	metaStamp, metaRecord := stored(change.Before.Meta)
	guard := []any{change.Before.Meta.Version, metaStamp, metaRecord}
	if worker >= 0 {
		statement, err := s.slotStatement(change, guard, worker, stamp)
		if err != nil {
			return nil, err
		}
		all = append(all, statement)
	}
	if change.Meta != nil {
		if worker >= 0 {
			return nil, errors.New("a change is about a worker ID, or about the namespace")
		}
		record, err := protocol.Encode(*change.Meta)
		if err != nil {
			return nil, err
		}
		sql := writeMeta
		if change.Unused {
			sql += unused
		}
		all = append(all, s.stmt(sql, append(guard, stamp, record)...))
		all = append(all, s.remember(stamp, record)...) //mutant:sql-remember
		if change.NoteLineage {
			all = append(all, s.complete(change.Meta.Capacity, stamp))
		}
	}
	if change.NoteLineage {
		all = append(all, s.stmt(noteLineage, stamp, worker))
	}
	last := s.view(worker)
	if change.Owner == protocol.OwnerTaken { // what is granted is not lost already
		last.SQL += s.names.Replace(countRow)
	}
	return append(all, last), nil
}

// remember copies a record of the namespace to the history, if it was stored with a stamp.
func (s *store) remember(stamp int64, record any) []Statement {
	return []Statement{
		s.stmt(`UPDATE {history} SET stamp = $2, record = $3 WHERE namespace = $1 AND EXISTS (
  SELECT 1 FROM {namespaces} n WHERE n.namespace = $1 AND n.stamp = $2)`, stamp, record),
		s.stmt(`{insert} {history} (namespace, version, stamp, record) SELECT namespace, 0, stamp, record
  FROM {namespaces} WHERE namespace = $1 AND stamp = $2 {present}`, stamp),
	}
}

// slotStatement is the statement that changes a slot.
func (s *session) slotStatement(change protocol.Change, guard []any, worker int,
	stamp int64,
) (Statement, error) {
	before := change.Before.Slot
	slot := before.Record
	if change.Slot != nil {
		slot = *change.Slot
	}
	record, err := protocol.Encode(slot)
	if err != nil {
		return Statement{}, err
	}
	oldStamp, oldRecord := stored(before)
	args := slices.Concat(guard, []any{stamp, record, worker, before.Version, oldStamp, oldRecord})
	sql, ttl := writeSlot, slot.Lease().Microseconds()
	switch {
	case change.Owner == protocol.OwnerTaken:
		sql, args = sql+`, token = $11, lease_ends = {now} + $12,
  identity = `, append(args, change.Token, ttl)
		if slot.Identity == "" {
			sql += `NULL`
		} else {
			sql, args = sql+`$13`, append(args, slot.Identity)
		}
	case change.Owner == protocol.OwnerFreed:
		sql += `, token = NULL, lease_ends = 0`
	case change.Owner == protocol.OwnerForever:
		sql, args = sql+`, token = NULL, lease_ends = $11`, append(args, int64(forever))
	case change.Before.Owned && change.Slot != nil:
		sql, args = sql+`, lease_ends = {now} + $11`, append(args, ttl)
	}
	sql += asRead
	if change.Before.Owned {
		sql += ` AND lease_ends > {now}`
	} else {
		sql += ` AND lease_ends <= {now}`
	}
	return s.stmt(sql, args...), nil
}

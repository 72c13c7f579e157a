package postgres

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/protocol"
)

// newStamp returns a random stamp; 0 is that of a row which is not there.
func newStamp() int64 { return rand.Int64N(math.MaxInt64-1) + 1 }

// The statements of a change. Each but the first two does something only if the namespace
// is as it was read, and the row of the namespace is locked until the end.
const (
	durableSQL = `SELECT set_config('synchronous_commit', 'on', true)`
	shareSQL   = `SELECT 1 FROM unalike_namespaces WHERE namespace = $1 FOR SHARE`
	lockSQL    = `SELECT 1 FROM unalike_namespaces WHERE namespace = $1 FOR UPDATE`

	asRead = `EXISTS (SELECT 1 FROM unalike_namespaces WHERE namespace = $1 AND version = $2 AND stamp = $3)`

	insertSQL = moment + `INSERT INTO unalike_slots SELECT $1, $4, moment.now, 1, $5, $6, $7, moment.now + $8::bigint FROM moment
WHERE ` + asRead + ` ON CONFLICT (namespace, worker) DO NOTHING`

	// The lease: -2 leaves it, -1 ends it, 0 is for ever, and more is how long it lasts.
	updateSQL = moment + `UPDATE unalike_slots s SET version = version + 1, stamp = $5, record = $6,
  token = CASE WHEN $8::bigint = -2 THEN token ELSE $7 END,
  lease_ends = CASE WHEN $8 = -2 THEN lease_ends WHEN $8 = -1 THEN 0 WHEN $8 = 0 THEN 9223372036854775807 ELSE moment.now + $8 END
FROM moment WHERE s.namespace = $1 AND s.worker = $4 AND s.version = $9 AND s.stamp = $10 AND (s.lease_ends > moment.now) = $11 AND ` + asRead

	identitySQL = `INSERT INTO unalike_identities SELECT $1, $2, worker FROM unalike_slots WHERE namespace = $1 AND worker = $3 AND stamp = $4
ON CONFLICT (namespace, identity) DO UPDATE SET worker = excluded.worker WHERE unalike_identities.worker <> excluded.worker`

	metaSQL = `UPDATE unalike_namespaces SET version = version + 1, stamp = $4, record = $5 WHERE namespace = $1 AND version = $2 AND stamp = $3
AND NOT ($6 AND EXISTS (SELECT 1 FROM unalike_slots WHERE namespace = $1))`

	settleSQL = moment + `UPDATE unalike_namespaces n SET lineage = moment.lineage FROM moment
WHERE n.namespace = $1 AND (n.stamp = $2 OR EXISTS (SELECT 1 FROM unalike_slots WHERE namespace = $1 AND stamp = $2))`
)

// Commit implements [protocol.Session]: one transaction in one round trip.
func (s *session) Commit(ctx context.Context, change protocol.Change) (protocol.Outcome, error) {
	worker, stamp := change.Worker(), newStamp()
	batch := &pgx.Batch{}
	batch.Queue(durableSQL)
	if change.Meta != nil || change.Settle {
		batch.Queue(lockSQL, s.namespace)
	} else {
		batch.Queue(shareSQL, s.namespace)
	}
	before := 2 // statements
	if err := s.queue(batch, change, worker, stamp); err != nil {
		return protocol.Outcome{}, err
	}
	batch.Queue(viewSQL, s.namespace, worker)
	results := s.db.SendBatch(ctx, batch)
	out, err := s.outcome(results, batch.Len(), before, worker)
	err = errors.Join(err, results.Close())
	switch codeOf(err) {
	case "23505", "40001", "40P01": // the token has a worker ID, or the transaction was rolled back for another one
		return protocol.Outcome{Conflict: protocol.ConflictElsewhere}, nil
	}
	if err != nil {
		return protocol.Outcome{}, err
	}
	if !out.Done && out.Now.Meta.Version == change.Before.Meta.Version && stampOf(out.Now.Meta) == stampOf(change.Before.Meta) {
		out.Conflict = protocol.ConflictSlot
	}
	return out, nil
}

// queue adds the statements that make a change. The first of them tells whether it is done.
func (s *session) queue(batch *pgx.Batch, change protocol.Change, worker int, stamp int64) error {
	meta, before := change.Before.Meta, change.Before.Slot
	guard := []any{s.namespace, meta.Version, stampOf(meta)}
	if change.Slot != nil || change.Owner != protocol.OwnerStays {
		slot := before.Record
		if change.Slot != nil {
			slot = *change.Slot
		}
		record, err := protocol.Encode(slot)
		if err != nil {
			return err
		}
		token, lease := change.Token, slot.Lease().Microseconds()
		switch {
		case change.Owner == protocol.OwnerStays && !change.Before.Owned:
			lease = -2
		case change.Owner == protocol.OwnerStays:
			token = slot.Token
		case change.Owner == protocol.OwnerFreed:
			token, lease = "", -1
		case change.Owner == protocol.OwnerForever:
			token, lease = "", 0
		}
		args := append(guard, worker, stamp, record, token, lease)
		if before.There() {
			batch.Queue(updateSQL, append(args, before.Version, stampOf(before), change.Before.Owned)...)
		} else {
			if lease <= 0 {
				args[len(args)-1] = int64(math.MaxInt64 / 2) // retired without ever being granted
			}
			batch.Queue(insertSQL, args...)
		}
		if change.Identity != "" {
			batch.Queue(identitySQL, s.namespace, change.Identity, worker, stamp)
		}
	}
	if change.Meta != nil {
		record, err := protocol.Encode(*change.Meta)
		if err != nil {
			return err
		}
		batch.Queue(metaSQL, append(guard, stamp, record, change.Unused)...)
	}
	if change.Settle {
		batch.Queue(settleSQL, s.namespace, stamp)
	}
	return nil
}

// outcome reads the answers of a transaction with so many statements, of which the one
// after those before tells whether it is done.
func (s *session) outcome(results pgx.BatchResults, statements, before, worker int) (out protocol.Outcome, err error) {
	for i := range statements - 1 {
		tag, err := results.Exec()
		if err != nil {
			return out, err
		}
		if i == before {
			out.Done = tag.RowsAffected() == 1
		}
	}
	out.Now, err = s.readView(results.QueryRow(), worker)
	if err == nil {
		out.Position = out.Now.Position
	}
	return out, err
}

package postgres

import (
	"fmt"

	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// dialect is that of PostgreSQL 12 and later.
func dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Driver: "postgres", Title: "the PostgreSQL database",
		Words: pgdb.Words,
		// What is safe on the server's disk. A standby has no such position, and says so.
		Number: "(pg_current_wal_flush_lsn() - '0/0')::bigint::text",
		Ticket: "nextval('{prefix}tickets')",
		// which has a number of its own, and is in the log
		Touch: "SELECT 1 FROM {namespaces} WHERE namespace = $1 FOR SHARE",
		// A row that many have locked together is written by each, and lets nobody wait in line.
		Shared:    "SELECT pg_advisory_xact_lock_shared(hashtextextended('{prefix}' || $1, 0))",
		Exclusive: "SELECT pg_advisory_xact_lock(hashtextextended('{prefix}' || $1, 0))",
		Series: func(n int) string {
			return fmt.Sprintf("generate_series(0, %d) AS series(worker)", n-1)
		},
		Schema: schema,
		Grants: []string{
			"SELECT, INSERT, UPDATE ON {namespaces}, {slots}, {history}",
			"SELECT ON {workers}", "USAGE ON SEQUENCE {prefix}tickets",
		},
		Risks: pgdb.Risks,
		Hidden: "row_security_active('{prefix}namespaces') OR row_security_active('{prefix}slots') " +
			"OR row_security_active('{prefix}history')",
	}
}

// schema makes the tables, in one transaction. Times are microseconds since 1970. Who else makes
// them at the same time waits.
var schema = []string{
	`SELECT pg_advisory_xact_lock(hashtext('{prefix}'))`,
	`CREATE TABLE IF NOT EXISTS {history} (
  namespace text PRIMARY KEY, version integer NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS {slots} (
  namespace text NOT NULL, worker integer NOT NULL,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, token text, identity text, lease_ends bigint NOT NULL,
  PRIMARY KEY (namespace, worker), UNIQUE (namespace, token)) WITH (fillfactor = 50)`,
	`CREATE SEQUENCE IF NOT EXISTS {prefix}tickets`,
	// A sequence that was used is that of tables which were dropped.
	`INSERT INTO {history} (namespace, version, stamp, record) SELECT '*', 3,
  CASE WHEN pg_sequence_last_value('{prefix}tickets'::regclass) IS NULL THEN 0 ELSE {now} END, '{}'
  ON CONFLICT DO NOTHING`,
	// Replacing it would be news for all connections, from each of many who start at once.
	`DO $$ BEGIN IF to_regclass('{workers}') IS NULL THEN CREATE VIEW {workers} AS SELECT namespace,
  worker,
  CASE WHEN record::json->>'retired' = 'true' THEN 'retired'
    WHEN lease_ends > extract(epoch FROM statement_timestamp()) * 1000000 THEN 'held'
  ELSE 'free' END AS state,
  record::json->>'holder' AS holder, record::json->>'identity' AS identity,
  (record::json->>'generation')::bigint AS generation,
  (record::json->>'notBefore')::bigint AS first_tick,
  (record::json->>'notAfter')::bigint AS last_tick,
  to_timestamp((record::json->>'since')::bigint / 1e6) AS since,
  to_timestamp((record::json->>'renewed')::bigint / 1e6) AS renewed
FROM {slots} WHERE version > 0; END IF; END $$`,
	`CREATE TABLE IF NOT EXISTS {namespaces} (
  namespace text PRIMARY KEY,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, lineage text NOT NULL)`,
}

package postgres

import (
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// dialect is that of PostgreSQL.
func dialect() sqlsegment.Dialect {
	return sqlsegment.Dialect{
		Name: "PostgreSQL",
		// The timeline is in the names of files: that in pg_control lags behind a promotion.
		Identity: "(SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))",
		Now:      "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		Text:     pgdb.Text,
		Quote:    func(name string) string { return `"` + name + `"` },
		Take:     take,
		Newer: "COALESCE((SELECT stamp FROM {meta} WHERE name = $ALL), 0) <= $STAMP AND " +
			"COALESCE((SELECT stamp FROM {meta} WHERE name = $ALL || ':' || biz_tag), 0) <= $STAMP",
		Types: "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname IN ('max_id', 'step') AND attnum > 0 AND NOT attisdropped " +
			"AND attrelid = " + oid,
		Updated:  "extract(epoch FROM update_time)::bigint",
		Ignore:   "INSERT INTO",
		Ignored:  "ON CONFLICT DO NOTHING",
		Replaced: "ON CONFLICT (name) DO UPDATE SET identity = excluded.identity, stamp = excluded.stamp",
		Schema: "CREATE TABLE {table} (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL, description varchar(256), " +
			"update_time timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50)",
		Meta: "CREATE TABLE IF NOT EXISTS {meta} (name text PRIMARY KEY, identity text NOT NULL, stamp bigint NOT NULL)",
		Risks: []sqlsegment.Risk{{
			If:   "current_setting('fsync') = 'off'",
			Says: "the server has fsync off, with which a crash of its machine loses ranges that were handed out; set it to on",
		}, {
			If:   "current_setting('full_page_writes') = 'off'",
			Says: "the server has full_page_writes off, with which a crash of its machine damages what it has stored; set it to on",
		}, {
			If:   "EXISTS (SELECT 1 FROM pg_class WHERE relpersistence <> 'p' AND oid = " + oid + ")",
			Says: "the table is UNLOGGED, or temporary: after a crash it is empty, and no standby has it; run ALTER TABLE .. SET LOGGED",
		}},
	}
}

// oid is the table.
const oid = "to_regclass(CASE WHEN $SCHEMA = '' THEN '' ELSE quote_ident($SCHEMA) || '.' END || quote_ident($TABLE))"

// settings are those of a transaction: with synchronous_commit on, what is confirmed is on disk, and also where synchronous_standby_names says; and it
// is heard of a commit that is confirmed with a warning.
const settings = "SELECT set_config('client_min_messages', 'warning', true), set_config('synchronous_commit', 'on', true) " +
	"WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') OR current_setting('client_min_messages') IN ('error', 'fatal', 'panic')"

// take is one message.
const take = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; " +
	settings + "; UPDATE {table} SET max_id = max_id + $STEP, update_time = now() WHERE biz_tag = $TAG AND max_id BETWEEN 0 AND $MOST AND {newer} AND {identity} = $IDENTITY RETURNING max_id; COMMIT"

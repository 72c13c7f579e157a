package postgres

import (
	"slices"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// dialect is that of PostgreSQL.
func dialect() sqlsegment.Dialect {
	return sqlsegment.Dialect{
		Words: pgdb.Words,
		Quote: func(name string) string { return `"` + name + `"` },
		Plain: func(text string) string { return "(" + text + ")::text" },
		Lock: "SELECT set_config('unalike.was', COALESCE(max_id, -1)::text, true) FROM {table} " +
			"WHERE biz_tag = $TAG FOR UPDATE",
		Was:   "NULLIF(current_setting('unalike.was', true), '')::numeric",
		Abort: pgdb.Abort,
		Held:  "SELECT stamp FROM {meta} WHERE name IN ($ALL, $MINUTES) FOR SHARE",
		Nested: "SELECT xmin::text::bigint <> txid_current() % 4294967296 FROM {table} " +
			"WHERE biz_tag = $TAG",
		Prompt: "1 = 1", // the client has what it has given up cancelled
		Unsafe: sqldb.Risk{If: "1 = 0"},
		Unfit: sqldb.Risk{
			If:   "row_security_active(" + oid + ") OR row_security_active(to_regclass('{meta}'))",
			Says: sqldb.Hidden,
		},
		Key: "$ALL || ':' || biz_tag",
		Types: "SELECT 'type', attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE " +
			"attname IN ('max_id', 'step') AND attnum > 0 AND NOT attisdropped AND attrelid = " + oid,
		Updated: "extract(epoch FROM update_time)::bigint",
		Updates: ", update_time = now()",
		Schema: "CREATE TABLE {table} (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT " +
			"NULL DEFAULT 1, step integer NOT NULL, description varchar(256), " +
			"update_time timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50)",
		Meta: "CREATE TABLE IF NOT EXISTS {meta} (name text PRIMARY KEY, identity text NOT NULL, stamp " +
			"bigint NOT NULL)",
		Risks: append(slices.Clone(pgdb.Risks), sqldb.Risk{
			If: "EXISTS (SELECT 1 FROM pg_class WHERE relpersistence <> 'p' AND oid = " + oid + ")",
			Says: "the table is UNLOGGED, or temporary: after a crash it is empty, and no standby has it; " +
				"run ALTER TABLE .. SET LOGGED",
		}),
	}
}

// oid is the table.
const oid = "to_regclass(CASE WHEN $SCHEMA = '' THEN '' ELSE quote_ident($SCHEMA) || '.' END || " +
	"quote_ident($TABLE))"

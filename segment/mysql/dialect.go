package mysql

import (
	"fmt"

	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// dialect is that of MySQL and MariaDB. Text in /*M! */ is for MariaDB alone, and in /*!80000 */ for MySQL.
func dialect() sqlsegment.Dialect {
	return sqlsegment.Dialect{
		Name:     "MySQL",
		Identity: "/*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) *//*!80000 @@server_uuid */",
		Now:      "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		// A hexadecimal literal means the same in every mode; as a literal it is compared by the column's collation.
		Text:  func(s string) string { return fmt.Sprintf("_utf8mb4 x'%x'", s) },
		Quote: func(name string) string { return "`" + name + "`" },
		Take:  take,
		Unsafe: []sqlsegment.Risk{{
			If:   "@@autocommit <> 1",
			Says: "autocommit is off on this connection, so that a range would be handed out before it is stored; switch it on for the pool",
		}, {
			If:   "/*M! @@in_transaction = 1 *//*!80000 0 = 1 */",
			Says: "the connection is within a transaction that somebody has left open, so that a range would be handed out before it is stored; end it",
		}, {
			If:   "@@log_bin = 1 AND @@binlog_format = 'STATEMENT'",
			Says: "the server's binlog_format is STATEMENT, with which its replicas work a range out anew under their own names, and never have it; set it to ROW or MIXED",
		}},
		Newer: "COALESCE((SELECT stamp FROM {meta} WHERE name = $ALL), 0) <= $STAMP AND " +
			"COALESCE((SELECT stamp FROM {meta} WHERE name = CONCAT($ALL, ':', CONVERT(biz_tag USING utf8mb4) COLLATE utf8mb4_bin)), 0) <= $STAMP",
		Types:    "SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE " + named + " AND COLUMN_NAME IN ('max_id', 'step')",
		Updated:  "UNIX_TIMESTAMP(update_time)",
		Ignore:   "INSERT IGNORE INTO",
		Replaced: "ON DUPLICATE KEY UPDATE identity = VALUES(identity), stamp = VALUES(stamp)",
		All:      "LIMIT 9223372036854775807", // for safe updates
		Schema: "CREATE TABLE {table} (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint NOT NULL DEFAULT '1', step int NOT NULL, description varchar(256) DEFAULT NULL, " +
			"update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag)) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4",
		Meta: "CREATE TABLE IF NOT EXISTS {meta} (name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, " +
			"identity varchar(400) CHARACTER SET utf8mb4 NOT NULL, stamp bigint NOT NULL) ENGINE = InnoDB",
		Risks: []sqlsegment.Risk{{
			If:   "@@innodb_flush_log_at_trx_commit <> 1",
			Says: "the server's innodb_flush_log_at_trx_commit is not 1, with which a crash loses ranges that were handed out; set it to 1",
		}, {
			If:   "@@log_bin = 1 AND @@sync_binlog <> 1",
			Says: "the server's sync_binlog is not 1, with which its replicas may lack ranges after a crash; set it to 1",
		}, {
			If: "EXISTS (SELECT 1 FROM information_schema.TABLES WHERE " + named + " AND TABLE_TYPE = 'BASE TABLE' AND " +
				"ENGINE NOT IN (SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'))",
			Says: "the table's storage engine has no transactions, with which a crash loses ranges that were handed out; run ALTER TABLE .. ENGINE = InnoDB",
		}},
	}
}

// named are the rows of the information schema about the table.
const named = "(TABLE_SCHEMA = $SCHEMA OR LENGTH($SCHEMA) = 0 AND TABLE_SCHEMA = DATABASE()) AND TABLE_NAME = $TABLE"

// take is one statement. Its insert ID is the new value; the range is what it was raised by.
const take = "UPDATE {table} SET max_id = LAST_INSERT_ID(max_id + $STEP) WHERE biz_tag = $TAG AND max_id BETWEEN 0 AND $MOST AND {unsafe} = 0 AND {newer} AND {identity} = $IDENTITY"

package mysql

import (
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlsegment"
)

// dialect is that of MySQL and MariaDB.
func dialect() sqlsegment.Dialect {
	return sqlsegment.Dialect{
		Words: mysqldb.Words,
		Quote: func(name string) string { return "`" + name + "`" },
		Plain: plain,
		// MAX is NULL if there is no row: what an earlier take has kept is forgotten.
		Lock: "SELECT MAX(COALESCE(max_id, -1)), NOW(6) INTO @unalike_was, @unalike_since FROM " +
			"{table} WHERE biz_tag = $TAG LIMIT 1 FOR UPDATE",
		Was:   "@unalike_was",
		Abort: mysqldb.Abort,
		// The server does not notice that a client has gone which waits for a lock.
		Prompt: "TIMESTAMPDIFF(MICROSECOND, @unalike_since, SYSDATE(6)) <= $WAIT",
		Unsafe: mysqldb.Statements,
		Unfit: sqldb.Risk{
			If: "EXISTS (SELECT 1 FROM information_schema.TABLES WHERE " + named +
				" AND TABLE_TYPE = 'BASE TABLE' AND " +
				"ENGINE NOT IN (SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'))",
			Says: "a storage engine of the tables %v has no transactions and locks no rows, with which " +
				"ranges would be handed out twice; run ALTER TABLE .. ENGINE = InnoDB",
		},
		Key: "CONCAT($ALL, ':', " + plain("biz_tag") + ")",
		Types: "SELECT 'type', " + plain("COLUMN_NAME") + ", " + plain("COLUMN_TYPE") +
			" FROM information_schema.COLUMNS WHERE " + named + " AND COLUMN_NAME IN ('max_id', 'step')",
		Updated: "UNIX_TIMESTAMP(update_time)",
		All:     "LIMIT 9223372036854775807", // for safe updates
		Schema: "CREATE TABLE {table} (biz_tag varchar(128) NOT NULL DEFAULT '', max_id " +
			"bigint NOT NULL DEFAULT '1', step int NOT NULL, description varchar(256) DEFAULT NULL, " +
			"update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE " +
			"CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag)) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4",
		Meta: "CREATE TABLE IF NOT EXISTS {meta} (name varchar(255) CHARACTER SET utf8mb4 COLLATE " +
			"utf8mb4_bin NOT NULL PRIMARY KEY, " +
			"identity varchar(400) CHARACTER SET utf8mb4 NOT NULL, stamp bigint NOT NULL) ENGINE = InnoDB",
		Risks: mysqldb.Risks,
	}
}

// plain is a text in the collation of our own table.
func plain(text string) string { return "CONVERT(" + text + " USING utf8mb4) COLLATE utf8mb4_bin" }

// named are the rows of the information schema about the table.
const named = "(TABLE_SCHEMA = $SCHEMA OR LENGTH($SCHEMA) = 0 AND TABLE_SCHEMA = DATABASE()) AND " +
	"TABLE_NAME = $TABLE"

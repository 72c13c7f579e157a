package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
)

// number is text in /*M! */ for MariaDB alone, and in /*!80000 */ for MySQL. The transactions of
// one server are numbered in order; those of several within a domain of MariaDB need not be.
const number = "/*M! @@gtid_binlog_state *//*!80000 @@gtid_executed */" //mutant:mysql-gtid

// dialect is that of MySQL 8.0 and MariaDB 10.6, and later ones.
func dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Driver: "mysql", Title: "the MySQL database",
		Words: mysqldb.Words, Number: number,
		Ticket: "/*M! NEXTVAL({prefix}tickets) *//*!80000 0 */",
		// A lock is not in the log. Without a binary log others see a transaction before it is on
		// disk, and the next one that is in the log takes it there.
		//mutant:mysql-touch
		Touch:     "UPDATE {slots} SET lease_ends = lease_ends - 1 WHERE namespace = $1 AND worker = $2",
		Shared:    "SELECT 1 FROM {namespaces} WHERE namespace = $1 LOCK IN SHARE MODE",
		Exclusive: "SELECT 1 FROM {namespaces} WHERE namespace = $1 FOR UPDATE",
		Series:    series,
		Schema:    schema,
		Grants: []string{
			"SELECT, INSERT, UPDATE ON {namespaces}", "SELECT, INSERT, UPDATE ON {slots}",
			"SELECT, INSERT, UPDATE ON {history}", "SELECT ON {workers}",
			"/*M! SELECT, INSERT ON {prefix}tickets *//*!80000 USAGE ON *.* */",
		},
		Risks: append(slices.Clone(mysqldb.Risks), mysqldb.Statements, sqldb.Risk{
			Name: "single_writer", If: "/*M! @@wsrep_on = 1 *//*!80000 0 = 1 */",
			Says: "the server is a node of Galera, which does not carry the locks of rows to other nodes; " +
				"have all programs write to one node",
		}),
		Hidden: "1 = 0",
	}
}

// series is a table of the numbers below n.
func series(n int) string {
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION " +
		"ALL SELECT 4 UNION ALL " +
		"SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	var sum, from []string
	for i, unit := 0, 1; unit < n || i == 0; i, unit = i+1, 10*unit {
		sum, from = append(sum, fmt.Sprintf("%d * d%d.d", unit, i)),
			append(from, fmt.Sprintf("%s d%d", digits, i))
	}
	value := strings.Join(sum, " + ")
	return fmt.Sprintf("(SELECT %s AS worker FROM %s WHERE %s < %d) series", value,
		strings.Join(from, ", "), value, n)
}

// schema makes the tables, {namespaces} last: whoever finds it finds all others, with the first row
// of {history}. Keys and records are binary: no character set or collation changes them. Times are
// microseconds since 1970.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS {history} (
  namespace varbinary(128) NOT NULL PRIMARY KEY, version int NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL) ENGINE = InnoDB`,
	`CREATE TABLE IF NOT EXISTS {slots} (
  namespace varbinary(128) NOT NULL, worker int NOT NULL,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL, token varbinary(128), identity varbinary(128),
  lease_ends bigint NOT NULL,
  PRIMARY KEY (namespace, worker), UNIQUE KEY (namespace, token)) ENGINE = InnoDB`,
	`/*M! CREATE SEQUENCE IF NOT EXISTS {prefix}tickets NOCACHE *//*!80000 DO 0 */`,
	// A sequence that was used is that of tables which were dropped.
	`INSERT IGNORE INTO {history} (namespace, version, stamp, record) SELECT '*', 3,
  /*M! (SELECT CASE WHEN next_not_cached_value = start_value THEN 0 ELSE {now} END
  FROM {prefix}tickets) *//*!80000 0 */, '{}'`,
	`CREATE OR REPLACE VIEW {workers} AS SELECT CONVERT(namespace USING utf8mb4) AS namespace, worker,
  CASE WHEN JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.retired') THEN 'retired'
  WHEN lease_ends > ` + mysqldb.Now + ` THEN 'held' ELSE 'free' END AS state,
  JSON_UNQUOTE(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.holder')) AS holder,
  JSON_UNQUOTE(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.identity')) AS identity,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.generation') AS generation,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.notBefore') AS first_tick,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.notAfter') AS last_tick,
  FROM_UNIXTIME(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.since') / 1000000) AS since,
  FROM_UNIXTIME(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.renewed') / 1000000) AS renewed
FROM {slots} WHERE version > 0`,
	`CREATE TABLE IF NOT EXISTS {namespaces} (
  namespace varbinary(128) NOT NULL PRIMARY KEY,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL, lineage varbinary(400) NOT NULL) ENGINE = InnoDB`,
}

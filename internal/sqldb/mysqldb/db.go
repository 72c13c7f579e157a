package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// Text in /*M! */ is for MariaDB alone, and in /*!80000 */ for MySQL.
const (
	// Now is the server's clock in microseconds since 1970.
	Now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	// Lineage names the server's history.
	//mutant:mysql-lineage
	Lineage = "/*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) *//*!80000 @@server_uuid */"
)

// Words are those of both.
var Words = sqldb.Words{Now: Now, Lineage: Lineage, Insert: "INSERT IGNORE INTO", Text: Text}

// Risks are the settings with which a server may lose what it has confirmed.
var Risks = []sqldb.Risk{{
	// MariaDB writes more often with 3
	Name: "innodb_flush_log_at_trx_commit", If: "@@innodb_flush_log_at_trx_commit NOT IN (1, 3)",
	Says: "the server's innodb_flush_log_at_trx_commit is not 1, with which a crash loses what it " +
		"has confirmed; set it to 1",
}, {
	Name: "sync_binlog", If: "@@log_bin = 1 AND @@sync_binlog <> 1",
	Says: "the server's sync_binlog is not 1, with which a crash loses what its replicas have or " +
		"have not; set it to 1",
}, {
	Name: "semi_sync", If: semiSync, //mutant:mysql-semi-sync
	Says: "the server's semi-synchronous replication waits after the commit, or does not wait at " +
		"present, so that a replica that is promoted may lack what was confirmed; " +
		"set rpl_semi_sync_master_wait_point to AFTER_SYNC, and look whether a replica is connected",
}}

// Statements is the risk of a log in which a replica finds statements.
var Statements = sqldb.Risk{
	Name: "binlog_format", If: "@@log_bin = 1 AND @@binlog_format = 'STATEMENT'",
	Says: "the server's binlog_format is STATEMENT, with which a replica works out anew what is " +
		"written, and stores its own name where the server's belongs; set it to ROW or MIXED",
}

// semiSync is true if others may lack what is confirmed.
const semiSync = `/*M! @@rpl_semi_sync_master_enabled = 1
  AND (@@rpl_semi_sync_master_wait_point <> 'AFTER_SYNC' OR
  (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
  WHERE VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_STATUS') <> 'ON') *//*!80000 0 = 1 */`

// DB is a database. Make it with [Open] or [Of].
type DB struct {
	pools *lifetime.Rotation[pool]
	at    string // what and where the server is; empty: that is not known
	place []string
}

// Of returns the database that a pool of the caller's leads to, which was made with
// MultiStatements. At says what and where the server is; empty: that is not known.
func Of(p *sql.DB, at string) *DB { return &DB{pools: lifetime.Keep(pool{p}), at: at} }

// pool implements [lifetime.Pool].
type pool struct{ *sql.DB }

// Connect implements [lifetime.Pool].
func (p pool) Connect(ctx context.Context) error { return p.PingContext(ctx) }

// Connections implements [lifetime.Pool].
func (p pool) Connections() int { return p.Stats().OpenConnections }

// Close implements [lifetime.Pool].
func (p pool) Close() { _ = p.DB.Close() }

// Check returns an error unless there is a pool.
func (d *DB) Check() error {
	if d.pools.Current().DB == nil {
		return errors.New("the pool is nil")
	}
	return nil
}

// The statements around those of a transaction, whatever completion_type is. Somebody else may
// have left the connection within one. The level is that which can be had with every binary log.
const (
	begin = "ROLLBACK AND NO CHAIN NO RELEASE; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " +
		"START TRANSACTION "
	commit = "; " + guard + "; COMMIT AND NO CHAIN NO RELEASE"
	// guard fails on a server that an operator has made read-only. Some users may write there, and
	// READ WRITE lifts a global tx_read_only with that of the session.
	guard = "SELECT IF(" + frozen + ", (SELECT 1 UNION SELECT 2), 0)" + unlimited
	// Some versions have words where others have numbers.
	frozen = "CONCAT(@@global.read_only) NOT IN ('0', 'OFF') OR " + //mutant:mysql-read-only
		"CONCAT(/*M! @@global.tx_read_only *//*!80000 @@global.transaction_read_only */) " +
		"NOT IN ('0', 'OFF')"
	// What ends a query, whatever sql_select_limit is.
	unlimited = " LIMIT 18446744073709551615"
)

// Transact makes statements in one transaction and one message, and returns the rows of the last
// one that has any as text; NULL is empty.
func (d *DB) Transact(ctx context.Context, write bool,
	statements []sqldb.Statement,
) ([][]string, error) {
	if write {
		return d.send(ctx, "", begin+"READ WRITE; ", statements)
	}
	return d.send(ctx, "", begin+"READ ONLY; ", statements)
}

// Once is Transact for what must not be done twice: the transaction begins with a message of its
// own, so that no proxy repeats it by itself.
func (d *DB) Once(ctx context.Context, statements []sqldb.Statement) ([][]string, error) {
	return d.send(ctx, begin+"READ WRITE", "", statements)
}

// send sends a message before that of a transaction, if there is one, and that with what begins it.
// Of the idle connections, one that the server has closed is left for the next, because nothing was
// sent on it. So is one to a server that is read-only: nothing was done there, and a new connection
// may lead elsewhere.
func (d *DB) send(ctx context.Context, before, begin string,
	statements []sqldb.Statement,
) (rows [][]string, err error) {
	script := begin + sqldb.Script(statements, quoted)
	if strings.HasPrefix(statements[len(statements)-1].SQL, "SELECT") {
		script += unlimited
	}
	p, leave := d.pools.Enter(ctx)
	defer leave()
	for range 1 + p.Stats().Idle {
		rows, err = d.try(ctx, p, before, script+commit)
		if !errors.Is(err, driver.ErrBadConn) && d.Class(err) != sqldb.ReadOnly {
			break
		}
	}
	return rows, d.located(err)
}

// try sends on one connection, and closes it after an error: what was done of the transaction ends
// with that.
func (d *DB) try(ctx context.Context, p pool, before, script string) (rows [][]string, err error) {
	conn, err := p.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
			err = classified(err)
		}
		_ = conn.Close()
	}()
	if before != "" {
		if _, err := conn.ExecContext(ctx, before); err != nil {
			return nil, err
		}
	}
	return last(conn.QueryContext(ctx, script))
}

// Abort is an expression that ends a transaction if {wrong} is true, with an error of the class
// [sqldb.Mismatch]. It is not that of the guard, and no constant, which would be worked out first.
const Abort = "CASE WHEN {wrong} THEN 18446744073709551615 + LENGTH(CONNECTION_ID()) ELSE 0 END"

// classified adds the class to errors whose number alone does not say it.
func classified(err error) error {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return err
	}
	switch e.Number {
	case 1064:
		return &sqldb.Fault{Class: sqldb.Refused, Says: "the pool was made without MultiStatements, " +
			"which this driver needs, or the server does not understand", Err: err}
	case 1690: // of Abort
		return &sqldb.Fault{Class: sqldb.Mismatch, Says: "it was rolled back", Err: err}
	case 1242: // of the guard
		return &sqldb.Fault{
			Class: sqldb.ReadOnly, Says: "the server is read-only, as a replica is", Err: err,
		}
	}
	return err
}

// last returns the rows of the last answer that has any, before that of the guard.
func last(rows *sql.Rows, err error) (all [][]string, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var guarded [][]string
	for more := true; more; more = rows.NextResultSet() {
		these, columns, err := Table(rows)
		if err != nil {
			return nil, err
		}
		if columns > 0 {
			all = guarded
			guarded = these
		}
	}
	return all, rows.Err()
}

// quoted is a hexadecimal literal, which means the same in every mode and character set.
func quoted(text string) string { return fmt.Sprintf("x'%x'", text) }

// Text is a literal that is compared by the collation of what it is compared with.
func Text(s string) string { return "_utf8mb4 " + quoted(s) }

// located adds to an error where the server is.
func (d *DB) located(err error) error {
	if err == nil || d.at == "" {
		return err
	}
	return fmt.Errorf("%s: %w", d.at, err)
}

// Place is where the database is; none: that is not known.
func (d *DB) Place() []string { return slices.Clone(d.place) }

// Rest closes the connections after the calls that use them, if the pool was made here.
func (d *DB) Rest() { d.pools.Rest() }

// Close closes the pool if it was made here, and waits a moment for its connections.
func (d *DB) Close() error {
	d.pools.Close()
	return nil
}

package pgdb

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/sqldb"
)

const (
	// Now is the server's clock in microseconds since 1970, not when all statements of a message came.
	Now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	// Lineage names the server's history. The timeline is in the names of files: that in pg_control
	// lags behind a promotion.
	Lineage = "(" + systemID + " || '/' || " + timeline + ")" //mutant:pg-lineage

	systemID = "(SELECT system_identifier FROM pg_control_system())"
	timeline = "substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8)"
)

// Words are those of PostgreSQL.
var Words = sqldb.Words{
	Now: Now, Lineage: Lineage, Insert: "INSERT INTO", Present: "ON CONFLICT DO NOTHING", Text: Text,
}

// Risks are the settings with which a server may lose what it has confirmed.
var Risks = []sqldb.Risk{{
	Name: "fsync", If: "current_setting('fsync') = 'off'",
	Says: "the PostgreSQL server has fsync off, with which a crash of its machine loses what it has " +
		"confirmed; set it to on",
}, {
	Name: "full_page_writes", If: "current_setting('full_page_writes') = 'off'",
	Says: "the PostgreSQL server has full_page_writes off, with which a crash of its " +
		"machine damages what it has stored; set it to on",
}}

// Abort is an expression that ends a transaction if {wrong} is true, with an error of the class
// [sqldb.Mismatch].
const Abort = "1 / CASE WHEN {wrong} THEN 0 ELSE 1 END"

// DB is a database. Make it with [Open] or [Of].
type DB struct {
	pools *lifetime.Rotation[pool]
	own   bool // the pools were made here
}

// pool implements [lifetime.Pool].
type pool struct{ *pgxpool.Pool }

// Connect implements [lifetime.Pool].
func (p pool) Connect(ctx context.Context) error {
	conn, err := p.Acquire(ctx)
	if err == nil {
		conn.Release()
	}
	return err
}

// Connections implements [lifetime.Pool].
func (p pool) Connections() int { return int(p.Stat().TotalConns()) }

// Open returns the database of a server, with pools of its own. It contacts nobody.
func Open(s sqldb.Server) (*DB, error) {
	config, err := Config(s)
	if err != nil {
		return nil, err
	}
	pools, err := lifetime.Rotate(func() (pool, error) {
		p, err := pgxpool.NewWithConfig(context.Background(), config)
		return pool{p}, err
	})
	return &DB{pools, true}, err
}

// Of returns the database that a pool of the caller's leads to.
func Of(p *pgxpool.Pool) *DB { return &DB{lifetime.Keep(pool{p}), false} }

// Check returns an error unless the pool can be used.
func (d *DB) Check() error {
	p := d.pools.Current()
	if p.Pool == nil {
		return errors.New("the pool is nil")
	}
	if d.own {
		return nil
	}
	return check(p.Config())
}

// The statements around those of a transaction. With read committed, each sees what was
// committed before it, and so what a lock has waited for. What is confirmed is on disk,
// and with synchronous_commit on also where synchronous_standby_names says. READ WRITE would lift
// default_transaction_read_only, with which an operator freezes a server.
const (
	begin      = `BEGIN ISOLATION LEVEL READ COMMITTED`
	beginRead  = begin + ` READ ONLY`
	beginWrite = begin + durable //mutant:pg-frozen
	durable    = `;
  SELECT set_config('client_min_messages', 'warning', true), set_config('synchronous_commit',
  'on', true)
WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
  OR current_setting('client_min_messages') IN ('error', 'fatal', 'panic')`
)

// Transact makes statements in one transaction, and returns the rows of the last one as text; NULL
// is empty. It is one message, so that a client whose last packet is lost leaves no locks. Nothing
// is prepared, and no state of the session is used: a pooler between us and the server may have
// another connection for the next one.
func (d *DB) Transact(ctx context.Context, write bool,
	statements []sqldb.Statement,
) ([][]string, error) {
	if write {
		return d.send(ctx, "", beginWrite+"; "+sqldb.Script(statements, Text), true)
	}
	return d.send(ctx, "", beginRead+"; "+sqldb.Script(statements, Text), false)
}

// Once is Transact for what must not be done twice: the transaction begins with a message of its
// own, so that no proxy repeats it by itself.
func (d *DB) Once(ctx context.Context, statements []sqldb.Statement) ([][]string, error) {
	return d.send(ctx, beginWrite, sqldb.Script(statements, Text), true)
}

// send sends a message before that of a transaction, if there is one, and that with a COMMIT, which
// is to be confirmed without a warning if something is written. A server that is read-only has done
// nothing: the next idle connection is used, and in the end a new one, which may lead elsewhere.
func (d *DB) send(ctx context.Context, before, script string,
	write bool,
) (rows [][]string, err error) {
	p, leave := d.pools.Enter(ctx)
	defer leave()
	for range 1 + p.Stat().IdleConns() {
		rows, err = d.try(ctx, p, before, script+"; COMMIT", write)
		if d.Class(err) != sqldb.ReadOnly {
			break
		}
	}
	return rows, located(p.Pool, err)
}

// try sends on one connection, and closes it if it leads to a server that is read-only.
func (d *DB) try(ctx context.Context, p pool, before, script string,
	write bool,
) (rows [][]string, err error) {
	conn, err := p.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // which closes one that is within a transaction
	c := conn.Conn().PgConn()
	defer func() {
		if d.Class(err) == sqldb.ReadOnly { //mutant:pg-read-only
			_ = c.Close(ctx)
		}
	}()
	forget(c)
	if before != "" {
		if _, err := exec(ctx, c, before); err != nil {
			return nil, err
		}
	}
	results, err := exec(ctx, c, script)
	if err == nil && write {
		err = confirmed(c)
	}
	if err != nil {
		return nil, err
	}
	return table(results[len(results)-2]), nil
}

// exec sends one message of several statements. After an error that the server has answered with,
// the connection is as good as before.
func exec(ctx context.Context, c *pgconn.PgConn, message string) ([]*pgconn.Result, error) {
	results, err := c.Exec(ctx, message).ReadAll()
	if err != nil && c.TxStatus() == 'E' {
		_, _ = c.Exec(ctx, "ROLLBACK").ReadAll()
	}
	return results, err
}

// table is the rows of a result, as text; NULL is empty.
func table(r *pgconn.Result) [][]string {
	all := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, value := range row {
			all[i] = append(all[i], string(value))
		}
	}
	return all
}

// Number is how much was written, as a position says it.
func (d *DB) Number(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// Place is where the database is: what selects another schema is part of it.
func (d *DB) Place() []string {
	c := d.pools.Current().Config().ConnConfig
	hosts := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if h := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	return append(hosts, c.Database, c.User, c.RuntimeParams["search_path"],
		c.RuntimeParams["options"])
}

// Rest closes the connections after the calls that use them, if the pool was made here.
func (d *DB) Rest() { d.pools.Rest() }

// Close closes the pool if it was made here, and waits a moment for its connections.
func (d *DB) Close() error {
	d.pools.Close()
	return nil
}

// Text is a literal, whatever the server's settings are; the pool's encoding is UTF-8. It has the
// collation of what it is compared with, so that its index is used.
func Text(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

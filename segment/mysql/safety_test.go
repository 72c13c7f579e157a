package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestSafety: what makes a take unsafe is met, on one server.
func TestSafety(t *testing.T) {
	s, d := start(t)
	for name, run := range map[string]func(*testing.T, *mysqltest.Server, *sqlsegmenttest.Database){
		"settings": checkSettings,
		"left":     checkLeft,
		"narrow":   checkNarrow,
		"rights":   checkRights,
		"readonly": checkReadOnly,
		"trigger":  checkTrigger,
		"orphans":  checkOrphans,
		"one":      checkOneMessage,
	} {
		t.Run(name, func(t *testing.T) { run(t, s, d) })
		d.Do(t, "DELETE FROM leaf_alloc")
	}
}

// checkSettings: whatever the settings of a session are, what is handed out is stored, also when
// the session ends at once.
func checkSettings(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	const tag = "Größe 漢字"
	d.Create(t, tag, 1)
	d.Create(t, "other", 1)
	for _, params := range append([]string{
		"&clientFoundRows=true", "&interpolateParams=true", "&multiStatements=true",
		"&tx_isolation=%27SERIALIZABLE%27", "&tx_isolation=%27READ-UNCOMMITTED%27",
	}, mysqltest.Settings...) {
		own := connect(t, s.DSN("?"+strings.TrimPrefix(params, "&")))
		own.SetMaxOpenConns(1)
		st, first := store(t, own, Options{}), d.Next(t, tag)
		sqlsegmenttest.WantTake(t, st, tag, first)
		sqlsegmenttest.WantBack(t, st, tag, first+3, first+9)
		sqlsegmenttest.WantTake(t, st, tag, first+3)
		if all, err := st.Tags(sqlsegmenttest.Within(t)); err != nil || len(all) != 2 {
			t.Errorf("Tags: %v, %v", all, err)
		}
		if err := st.Advance(sqlsegmenttest.Within(t), tag, first+20); err != nil {
			t.Error(err)
		}
		_ = own.Close()
		if n := d.Next(t, tag); n != first+20 {
			t.Errorf("max_id is %d when the session has ended; want %d", n, first+20)
		}
		if t.Failed() {
			t.Fatalf("with %s", params)
		}
	}
}

// checkLeft: nothing is handed out within a transaction that somebody has left open on a
// connection, on a server where the end of one begins the next.
func checkLeft(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 1)
	d.Do(t, "SET GLOBAL completion_type = 'CHAIN'")
	defer d.Do(t, "SET GLOBAL completion_type = 'NO_CHAIN'")
	own := connect(t, s.DSN(""))
	own.SetMaxOpenConns(1)
	st := store(t, own, Options{})
	for _, left := range []string{"BEGIN", "START TRANSACTION READ ONLY", "COMMIT", "XA START 'x'"} {
		if _, err := own.ExecContext(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		first := d.Next(t, "a")
		r, err := st.Take(sqlsegmenttest.Within(t), "a", 10)
		if n := d.Next(t, "a"); err == nil && (r.First != first || n != first+10) {
			t.Errorf("Take after %s: %v; max_id went from %d to %d", left, r, first, n)
		}
	}
	sqlsegmenttest.WantTake(t, st, "a", d.Next(t, "a"))
}

// checkNarrow: a column that is made narrower while a program runs, on a server that is not strict,
// is clamped: what was handed out is not handed out again, to this program or another one.
func checkNarrow(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 2147483620)
	st := with(t, s, "?clientFoundRows=true&sql_mode=%27%27")
	sqlsegmenttest.WantTake(t, st, "a", 2147483620)
	d.Do(t, d.Retype+"int NOT NULL")
	defer d.Do(t, d.Retype+"bigint NOT NULL")
	sqlsegmenttest.WantTake(t, st, "a", 2147483630)
	for _, st := range []*Store{st, with(t, s, "?sql_mode=%27%27"), st} {
		r, err := st.Take(sqlsegmenttest.Within(t), "a", 10)
		if !errors.Is(err, segment.ErrInvalidConfig) && !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("after 2147483639 came %v, %v", r, err)
		}
	}
}

// checkRights: without the right to make a table there is a warning, and without rights at all it
// is said which.
func checkRights(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 1)
	d.Do(t, "CREATE USER ann IDENTIFIED BY 'pw'", "DROP TABLE unalike_meta",
		"GRANT SELECT, UPDATE ON unalike.leaf_alloc TO ann")
	ann := store(t, connect(t, "ann:pw@tcp("+s.Addr()+")/unalike"), Options{})
	sqlsegmenttest.WantTake(t, ann, "a", 1)
	w := strings.Join(ann.Warnings(), "\n")
	if !strings.Contains(w, "unalike_meta") || !strings.Contains(w, "CREATE TABLE") {
		t.Errorf("Warnings: %s", w)
	}
	if err := ann.Advance(sqlsegmenttest.Within(t), "a", 100); err != nil {
		t.Error(err)
	}
	d.Do(t, "REVOKE UPDATE ON unalike.leaf_alloc FROM ann")
	sqlsegmenttest.WantRefused(t, ann, "a", segment.ErrInvalidConfig, "UPDATE")
}

// checkReadOnly: a replica says that it is one.
func checkReadOnly(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 1)
	d.Do(t, "CREATE USER bob IDENTIFIED BY 'pw'", "GRANT ALL ON unalike.* TO bob",
		"SET GLOBAL read_only = 1")
	bob := store(t, connect(t, "bob:pw@tcp("+s.Addr()+")/unalike"), Options{})
	_, err := bob.Take(sqlsegmenttest.Within(t), "a", 10)
	if err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Take from a server that is read-only: %v", err)
	}
	d.Do(t, "SET GLOBAL read_only = 0")
	sqlsegmenttest.WantTake(t, bob, "a", 1)
}

// checkTrigger: whatever a trigger on the table does, a range is one of what was stored before and
// after it: it changes what the server says of identities that were inserted, or max_id itself,
// also so that nothing is handed out.
func checkTrigger(t *testing.T, _ *mysqltest.Server, d *sqlsegmenttest.Database) {
	st := d.Create(t, "a", 1000)
	d.Do(t, "CREATE TABLE audit (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(10))",
		"INSERT INTO audit (what) VALUES ('x'), ('y')")
	for _, trigger := range []string{
		"AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (what) VALUES ('z')",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.description = LAST_INSERT_ID(5)",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = NEW.max_id + 1000",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 3",
	} {
		d.Do(t, "CREATE TRIGGER moved "+trigger)
		before := d.Next(t, "a")
		r, err := st.Take(sqlsegmenttest.Within(t), "a", 10)
		after := d.Next(t, "a")
		if err == nil && (r.Len() != 10 || r.First < before || r.Last >= after) ||
			err != nil && !strings.Contains(trigger, "max_id") {
			t.Errorf("with %s: %v, %v; max_id went from %d to %d", trigger, r, err, before, after)
		}
		d.Do(t, "DROP TRIGGER moved")
	}
}

// checkOrphans: attempts that were given up wait in the server for a row that is locked. When it is
// free, the server notices that their clients are gone, at the latest after one or two.
func checkOrphans(t *testing.T, s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 1)
	st := with(t, s, "")
	tx, err := d.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT 1 FROM leaf_alloc WHERE biz_tag = 'a' FOR UPDATE")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if r, err := st.Take(ctx, "a", 10); err == nil {
			t.Errorf("of a row that is locked came %v", r)
		}
		cancel()
	}
	waiting := func() int64 {
		return d.Int(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST"+
			" WHERE INFO LIKE 'UPDATE%%max_id%%'")
	}
	if waiting() == 0 {
		t.Error("no attempt waits in the server: does this test still find them?")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "none waits", func() bool { return waiting() == 0 })
	if r, err := st.Take(sqlsegmenttest.Within(t), "a", 10); err != nil || r.First > 1+2*10 {
		t.Errorf("%v, %v; attempts that were given up have taken what is before it", r, err)
	}
}

// checkOneMessage: a pool that cannot send several statements at once is refused, and it is said
// what it lacks.
func checkOneMessage(t *testing.T, s *mysqltest.Server, _ *sqlsegmenttest.Database) {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = store(t, pool, Options{}).Tags(sqlsegmenttest.Within(t))
	sqlsegmenttest.WantErr(t, "Tags", err, segment.ErrInvalidConfig, "MultiStatements")
}

// TestStatementLog: a server whose replicas would work a range out anew, and never have it, hands
// out none.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	s, d := start(t, "--log-bin", "--sync-binlog=1", "--binlog-format=MIXED")
	sqlsegmenttest.WantTake(t, d.Create(t, "a", 1), "a", 1)
	d.Do(t, "SET GLOBAL binlog_format = 'STATEMENT'")
	const says = "set it to ROW or MIXED"
	sqlsegmenttest.WantRefused(t, with(t, s, ""), "a", segment.ErrInvalidConfig, says)
	if n := d.Next(t, "a"); n != 11 {
		t.Errorf("max_id is %d", n)
	}
}

// TestDurable: settings with which confirmed ranges can be lost are a warning, or refused.
func TestDurable(t *testing.T) {
	s, d := start(t, "--innodb-flush-log-at-trx-commit=2", "--log-bin", "--sync-binlog=0")
	w := strings.Join(d.Create(t, "a", 1).Warnings(), "\n")
	if !strings.Contains(w, "innodb_flush_log_at_trx_commit") || !strings.Contains(w, "sync_binlog") {
		t.Errorf("Warnings: %s", w)
	}
	_, err := segment.Open(sqlsegmenttest.Within(t), url(s)+"?durable=require", segment.OpenOptions{})
	sqlsegmenttest.WantErr(t, "Open", err, segment.ErrInvalidConfig, "innodb_flush_log_at_trx_commit")
	d.Do(t, "SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")
	required := store(t, connect(t, s.DSN("")), Options{RequireDurable: true})
	for _, engine := range []string{"MyISAM", "MEMORY", "Aria"} {
		d.Do(t, "ALTER TABLE leaf_alloc ENGINE = "+engine)
		_, err := required.Tags(sqlsegmenttest.Within(t))
		sqlsegmenttest.WantErr(t, "Tags with "+engine, err, segment.ErrInvalidConfig, "ENGINE = InnoDB")
	}
	d.Do(t, "ALTER TABLE leaf_alloc ENGINE = InnoDB")
	if _, err := required.Tags(sqlsegmenttest.Within(t)); err != nil || len(required.Warnings()) > 0 {
		t.Errorf("Tags: %v; Warnings: %v", err, required.Warnings())
	}
}

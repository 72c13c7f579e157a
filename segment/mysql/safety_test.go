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
	for name, run := range map[string]func(*mysqltest.Server, *sqlsegmenttest.Database){
		"settings": checkSettings,
		"left":     checkLeft,
		"narrow":   checkNarrow,
		"rights":   checkRights,
		"readonly": checkReadOnly,
		"trigger":  checkTrigger,
		"orphans":  checkOrphans,
		"one":      checkOneMessage,
	} {
		t.Run(name, func(t *testing.T) { run(s, d.On(t)) })
		d.Do("DELETE FROM leaf_alloc")
	}
}

// checkSettings: whatever the settings of a session are, what is handed out is stored, also when
// the session ends at once.
func checkSettings(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	const tag = "Größe 漢字"
	d.Create(tag, 1)
	d.Create("other", 1)
	for _, params := range append([]string{
		"&clientFoundRows=true", "&interpolateParams=true", "&multiStatements=true",
		"&tx_isolation=%27SERIALIZABLE%27", "&tx_isolation=%27READ-UNCOMMITTED%27",
	}, mysqltest.Settings...) {
		own := connect(d, s.DSN("?"+strings.TrimPrefix(params, "&")))
		own.SetMaxOpenConns(1)
		st, first := store(d, own, Options{}), d.Next(tag)
		d.WantTake(st, tag, first)
		d.WantBack(st, tag, first+3, first+9)
		d.WantTake(st, tag, first+3)
		if all, err := st.Tags(d.Within()); err != nil || len(all) != 2 {
			d.Errorf("Tags: %v, %v", all, err)
		}
		if err := st.Advance(d.Within(), tag, first+20); err != nil {
			d.Error(err)
		}
		_ = own.Close()
		if n := d.Next(tag); n != first+20 {
			d.Errorf("max_id is %d when the session has ended; want %d", n, first+20)
		}
		if d.Failed() {
			d.Fatalf("with %s", params)
		}
	}
}

// checkLeft: nothing is handed out within a transaction that somebody has left open on a
// connection, on a server where the end of one begins the next.
func checkLeft(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create("a", 1)
	d.Do("SET GLOBAL completion_type = 'CHAIN'")
	defer d.Do("SET GLOBAL completion_type = 'NO_CHAIN'")
	own := connect(d, s.DSN(""))
	own.SetMaxOpenConns(1)
	st := store(d, own, Options{})
	for _, left := range []string{"BEGIN", "START TRANSACTION READ ONLY", "COMMIT", "XA START 'x'"} {
		if _, err := own.ExecContext(d.Context(), left); err != nil {
			d.Fatal(err)
		}
		first := d.Next("a")
		r, err := st.Take(d.Within(), "a", 10)
		if n := d.Next("a"); err == nil && (r.First != first || n != first+10) {
			d.Errorf("Take after %s: %v; max_id went from %d to %d", left, r, first, n)
		}
	}
	d.WantTake(st, "a", d.Next("a"))
}

// checkNarrow: a column that is made narrower while a program runs, on a server that is not strict,
// is clamped: what was handed out is not handed out again, to this program or another one.
func checkNarrow(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create("a", 2147483620)
	st := with(d, s, "?clientFoundRows=true&sql_mode=%27%27")
	d.WantTake(st, "a", 2147483620)
	d.Do(d.Retype + "int NOT NULL")
	defer d.Do(d.Retype + "bigint NOT NULL")
	d.WantTake(st, "a", 2147483630)
	for _, st := range []*Store{st, with(d, s, "?sql_mode=%27%27"), st} {
		r, err := st.Take(d.Within(), "a", 10)
		if !errors.Is(err, segment.ErrInvalidConfig) && !errors.Is(err, segment.ErrExhausted) {
			d.Errorf("after 2147483639 came %v, %v", r, err)
		}
	}
}

// checkRights: without the right to make a table there is a warning, and without rights at all it
// is said which.
func checkRights(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create("a", 1)
	d.Do("CREATE USER ann IDENTIFIED BY 'pw'", "DROP TABLE unalike_meta",
		"GRANT SELECT, UPDATE ON unalike.leaf_alloc TO ann")
	ann := store(d, connect(d, "ann:pw@tcp("+s.Addr()+")/unalike"), Options{})
	d.WantTake(ann, "a", 1)
	w := strings.Join(ann.Warnings(), "\n")
	if !strings.Contains(w, "unalike_meta") || !strings.Contains(w, "CREATE TABLE") {
		d.Errorf("Warnings: %s", w)
	}
	if err := ann.Advance(d.Within(), "a", 100); err != nil {
		d.Error(err)
	}
	d.Do("REVOKE UPDATE ON unalike.leaf_alloc FROM ann")
	d.WantRefused(ann, "a", segment.ErrInvalidConfig, "UPDATE")
}

// checkReadOnly: a replica says that it is one.
func checkReadOnly(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create("a", 1)
	d.Do("CREATE USER bob IDENTIFIED BY 'pw'", "GRANT ALL ON unalike.* TO bob",
		"SET GLOBAL read_only = 1")
	bob := store(d, connect(d, "bob:pw@tcp("+s.Addr()+")/unalike"), Options{})
	_, err := bob.Take(d.Within(), "a", 10)
	if err == nil || !strings.Contains(err.Error(), "replica") {
		d.Errorf("Take from a server that is read-only: %v", err)
	}
	d.Do("SET GLOBAL read_only = 0")
	d.WantTake(bob, "a", 1)
}

// checkTrigger: whatever a trigger on the table does, a range is one of what was stored before and
// after it: it changes what the server says of identities that were inserted, or max_id itself,
// also so that nothing is handed out.
func checkTrigger(_ *mysqltest.Server, d *sqlsegmenttest.Database) {
	st := d.Create("a", 1000)
	d.Do("CREATE TABLE audit (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(10))",
		"INSERT INTO audit (what) VALUES ('x'), ('y')")
	for _, trigger := range []string{
		"AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (what) VALUES ('z')",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.description = LAST_INSERT_ID(5)",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = NEW.max_id + 1000",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 3",
	} {
		d.Do("CREATE TRIGGER moved " + trigger)
		before := d.Next("a")
		r, err := st.Take(d.Within(), "a", 10)
		after := d.Next("a")
		if err == nil && (r.Len() != 10 || r.First < before || r.Last >= after) ||
			err != nil && !strings.Contains(trigger, "max_id") {
			d.Errorf("with %s: %v, %v; max_id went from %d to %d", trigger, r, err, before, after)
		}
		d.Do("DROP TRIGGER moved")
	}
}

// checkOrphans: attempts that were given up wait in the server for a row that is locked. When it is
// free, the server notices that their clients are gone, at the latest after one or two.
func checkOrphans(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	d.Create("a", 1)
	st := with(d, s, "")
	tx, err := d.SQL.BeginTx(d.Context(), nil)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(d.Context(), "SELECT 1 FROM leaf_alloc WHERE biz_tag = 'a' FOR UPDATE")
	if err != nil {
		d.Fatal(err)
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(d.Context(), 100*time.Millisecond)
		if r, err := st.Take(ctx, "a", 10); err == nil {
			d.Errorf("of a row that is locked came %v", r)
		}
		cancel()
	}
	waiting := func() int64 {
		return d.Int("SELECT COUNT(*) FROM information_schema.PROCESSLIST" +
			" WHERE INFO LIKE 'UPDATE%%max_id%%'")
	}
	if waiting() == 0 {
		d.Error("no attempt waits in the server: does this test still find them?")
	}
	if err := tx.Commit(); err != nil {
		d.Fatal(err)
	}
	streamtest.Eventually(d, "none waits", func() bool { return waiting() == 0 })
	if r, err := st.Take(d.Within(), "a", 10); err != nil || r.First > 1+2*10 {
		d.Errorf("%v, %v; attempts that were given up have taken what is before it", r, err)
	}
}

// checkOneMessage: a pool that cannot send several statements at once is refused, and it is said
// what it lacks.
func checkOneMessage(s *mysqltest.Server, d *sqlsegmenttest.Database) {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		d.Fatal(err)
	}
	defer pool.Close()
	_, err = store(d, pool, Options{}).Tags(d.Within())
	d.WantErr("Tags", err, segment.ErrInvalidConfig, "MultiStatements")
}

// TestStatementLog: a server whose replicas would work a range out anew, and never have it, hands
// out none.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	s, d := start(t, "--log-bin", "--sync-binlog=1", "--binlog-format=MIXED")
	d.WantTake(d.Create("a", 1), "a", 1)
	d.Do("SET GLOBAL binlog_format = 'STATEMENT'")
	const says = "set it to ROW or MIXED"
	d.WantRefused(with(t, s, ""), "a", segment.ErrInvalidConfig, says)
	if n := d.Next("a"); n != 11 {
		t.Errorf("max_id is %d", n)
	}
}

// TestDurable: settings with which confirmed ranges can be lost are a warning, or refused.
func TestDurable(t *testing.T) {
	s, d := start(t, "--innodb-flush-log-at-trx-commit=2", "--log-bin", "--sync-binlog=0")
	w := strings.Join(d.Create("a", 1).Warnings(), "\n")
	if !strings.Contains(w, "innodb_flush_log_at_trx_commit") || !strings.Contains(w, "sync_binlog") {
		t.Errorf("Warnings: %s", w)
	}
	_, err := segment.Open(d.Within(), url(s)+"?durable=require", segment.OpenOptions{})
	d.WantErr("Open", err, segment.ErrInvalidConfig, "innodb_flush_log_at_trx_commit")
	d.Do("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")
	required := store(t, connect(t, s.DSN("")), Options{RequireDurable: true})
	for _, engine := range []string{"MyISAM", "MEMORY", "Aria"} {
		d.Do("ALTER TABLE leaf_alloc ENGINE = " + engine)
		_, err := required.Tags(d.Within())
		d.WantErr("Tags with "+engine, err, segment.ErrInvalidConfig, "ENGINE = InnoDB")
	}
	d.Do("ALTER TABLE leaf_alloc ENGINE = InnoDB")
	if _, err := required.Tags(d.Within()); err != nil || len(required.Warnings()) > 0 {
		t.Errorf("Tags: %v; Warnings: %v", err, required.Warnings())
	}
}

package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestSafety: what makes a take unsafe is met, on one server.
func TestSafety(t *testing.T) {
	s := start(t)
	for name, run := range map[string]func(server){
		"settings": checkSettings,
		"left":     checkLeft,
		"narrow":   checkNarrow,
		"rights":   checkRights,
		"readonly": checkReadOnly,
		"trigger":  checkTrigger,
		"orphans":  checkOrphans,
		"one":      checkOneMessage,
	} {
		t.Run(name, func(t *testing.T) { run(server{s.On(t), s.Server}) })
		s.Do("DELETE FROM leaf_alloc")
	}
}

// checkSettings: whatever the settings of a session are, what is handed out is stored, also when
// the session ends at once.
func checkSettings(s server) {
	const tag = "Größe 漢字"
	s.Create(tag, 1)
	s.Create("other", 1)
	for _, params := range append([]string{
		"&clientFoundRows=true", "&interpolateParams=true", "&multiStatements=true",
		"&tx_isolation=%27SERIALIZABLE%27", "&tx_isolation=%27READ-UNCOMMITTED%27",
	}, mysqltest.Settings...) {
		own := connect(s, s.DSN("?"+strings.TrimPrefix(params, "&")))
		own.SetMaxOpenConns(1)
		st, first := store(s, own, Options{}), s.Next(tag)
		s.WantTake(st, tag, first)
		s.WantBack(st, tag, first+3, first+9)
		s.WantTake(st, tag, first+3)
		if all, err := st.Tags(s.Within()); err != nil || len(all) != 2 {
			s.Errorf("Tags: %v, %v", all, err)
		}
		if err := st.Advance(s.Within(), tag, first+20); err != nil {
			s.Error(err)
		}
		_ = own.Close()
		if n := s.Next(tag); n != first+20 {
			safetytest.Of(s).Errorf("max_id is %d when the session has ended; want %d", n, first+20)
		}
		if s.Failed() {
			s.Fatalf("with %s", params)
		}
	}
}

// checkLeft: nothing is handed out within a transaction that somebody has left open on a
// connection, on a server where the end of one begins the next.
func checkLeft(s server) {
	s.Create("a", 1)
	s.Do("SET GLOBAL completion_type = 'CHAIN'")
	defer s.Do("SET GLOBAL completion_type = 'NO_CHAIN'")
	own := connect(s, s.DSN(""))
	own.SetMaxOpenConns(1)
	st := store(s, own, Options{})
	for _, left := range []string{"BEGIN", "START TRANSACTION READ ONLY", "COMMIT", "XA START 'x'"} {
		if _, err := own.ExecContext(s.Context(), left); err != nil {
			s.Fatal(err)
		}
		first := s.Next("a")
		r, err := st.Take(s.Within(), "a", 10)
		if n := s.Next("a"); err == nil && (r.First != first || n != first+10) {
			safetytest.Of(s).Errorf("Take after %s: %v; max_id went from %d to %d", left, r, first, n)
		}
	}
	s.WantTake(st, "a", s.Next("a"))
}

// checkNarrow: a column that is made narrower while a program runs, on a server that is not strict,
// is clamped: that program takes nothing more, and another one takes what is left.
func checkNarrow(s server) {
	s.Create("a", 2147483620)
	st := s.with("?clientFoundRows=true&sql_mode=%27%27")
	s.WantTake(st, "a", 2147483620)
	s.Do(s.Retype + "int NOT NULL")
	defer s.Do(s.Retype + "bigint NOT NULL")
	s.WantTake(st, "a", 2147483630)
	s.WantRefused(st, "a", segment.ErrDamaged, "bigint")
	r, err := s.with("?sql_mode=%27%27").Take(s.Within(), "a", 10)
	if err != nil || r != (segment.Range{First: 2147483640, Last: 2147483646}) {
		safetytest.Unless(s, err).Errorf("the last range is %v, %v", r, err)
	}
	s.WantRefused(st, "a", segment.ErrDamaged, "bigint")
}

// checkRights: what a user lacks is said, with what to run.
func checkRights(s server) {
	s.Create("a", 1)
	s.Do("CREATE USER ann IDENTIFIED BY 'pw'", "DROP TABLE unalike_meta",
		"GRANT SELECT, UPDATE ON unalike.leaf_alloc TO ann")
	ann := store(s, connect(s, "ann:pw@tcp("+s.Server.Addr()+")/unalike"), Options{})
	s.WantRefused(ann, "a", segment.ErrInvalidConfig, "CREATE TABLE IF NOT EXISTS `unalike_meta`")
	s.Do(strings.ReplaceAll(dialect().Meta, "{meta}", "unalike_meta"),
		"GRANT SELECT, INSERT, UPDATE ON unalike.unalike_meta TO ann")
	s.WantTake(ann, "a", 1)
	s.Do("REVOKE UPDATE ON unalike.leaf_alloc FROM ann")
	s.WantRefused(ann, "a", segment.ErrInvalidConfig, "UPDATE")
}

// checkReadOnly: a replica says that it is one.
func checkReadOnly(s server) {
	s.Create("a", 1)
	s.Do("CREATE USER bob IDENTIFIED BY 'pw'", "GRANT ALL ON unalike.* TO bob",
		"SET GLOBAL read_only = 1")
	bob := store(s, connect(s, "bob:pw@tcp("+s.Server.Addr()+")/unalike"), Options{})
	_, err := bob.Take(s.Within(), "a", 10)
	if err == nil || !strings.Contains(err.Error(), "replica") {
		s.Errorf("Take from a server that is read-only: %v", err)
	}
	s.Do("SET GLOBAL read_only = 0")
	s.WantTake(bob, "a", 1)
}

// checkTrigger: whatever a trigger on the table does, a range is one of what was stored before and
// after it: it changes what the server says of identities that were inserted, or max_id itself,
// also so that nothing is handed out.
func checkTrigger(s server) {
	st := s.Create("a", 1000)
	s.Do("CREATE TABLE audit (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(10))",
		"INSERT INTO audit (what) VALUES ('x'), ('y')")
	for _, trigger := range []string{
		"AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (what) VALUES ('z')",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.description = LAST_INSERT_ID(5)",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = NEW.max_id + 1000",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 3",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = LEAST(NEW.max_id, 1020)",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.step = NEW.step + 1",
	} {
		s.Do("CREATE TRIGGER moved " + trigger)
		s.WantWhole(st, "a", strings.Contains(trigger, "NEW.max_id"), trigger)
		s.Do("DROP TRIGGER moved")
	}
}

// checkOrphans: attempts that were given up wait in the server for a row that is locked. When it is
// free, the server notices that their clients are gone, at the latest after one or two.
func checkOrphans(s server) {
	s.Create("a", 1)
	st := s.with("")
	tx, err := s.SQL.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(s.Context(), "SELECT 1 FROM leaf_alloc WHERE biz_tag = 'a' FOR UPDATE")
	if err != nil {
		s.Fatal(err)
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
		if r, err := st.Take(ctx, "a", 10); err == nil {
			safetytest.Of(s).Errorf("of a row that is locked came %v", r)
		}
		cancel()
	}
	waiting := func() int64 { return s.Int("%s", s.Waits) }
	if waiting() == 0 {
		s.Error("no attempt waits in the server: does this test still find them?")
	}
	if err := tx.Commit(); err != nil {
		s.Fatal(err)
	}
	streamtest.Eventually(s, "none waits", func() bool { return waiting() == 0 })
	if r, err := st.Take(s.Within(), "a", 10); err != nil || r.First > 1+2*10 {
		safetytest.Unless(s, err).Errorf("%v, %v; attempts that were given up have taken what is "+
			"before it", r, err)
	}
}

// checkOneMessage: a pool that cannot send several statements at once is refused, and it is said
// what it lacks.
func checkOneMessage(s server) {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		s.Fatal(err)
	}
	defer pool.Close()
	_, err = store(s, pool, Options{}).Tags(s.Within())
	s.WantErr("Tags", err, segment.ErrInvalidConfig, "MultiStatements")
}

// TestStatementLog: a server whose replicas would work a range out anew, and never have it, hands
// out none.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	s := start(t, "--log-bin", "--sync-binlog=1", "--binlog-format=MIXED")
	s.WantTake(s.Create("a", 1), "a", 1)
	s.Do("SET GLOBAL binlog_format = 'STATEMENT'")
	const says = "set it to ROW or MIXED"
	s.WantRefused(s.with(""), "a", segment.ErrInvalidConfig, says)
	if n := s.Next("a"); n != 11 {
		t.Errorf("max_id is %d", n)
	}
}

// TestDurable: settings with which confirmed ranges can be lost are a warning, or refused.
func TestDurable(t *testing.T) {
	s := start(t, "--innodb-flush-log-at-trx-commit=2", "--log-bin", "--sync-binlog=0")
	w := strings.Join(s.Create("a", 1).Warnings(), "\n")
	if !strings.Contains(w, "innodb_flush_log_at_trx_commit") || !strings.Contains(w, "sync_binlog") {
		t.Errorf("Warnings: %s", w)
	}
	_, err := segment.Open(s.Within(), s.StoreURL+"?durable=require", segment.OpenOptions{})
	s.WantErr("Open", err, segment.ErrInvalidConfig, "innodb_flush_log_at_trx_commit")
	s.Do("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")
	required := store(t, connect(t, s.DSN("")), Options{RequireDurable: true})
	for _, engine := range []string{"MyISAM", "MEMORY", "Aria"} {
		s.Do("ALTER TABLE leaf_alloc ENGINE = " + engine)
		_, err := required.Tags(s.Within())
		s.WantErr("Tags with "+engine, err, segment.ErrInvalidConfig, "ENGINE = InnoDB")
		s.WantRefused(s.Store(), "a", segment.ErrInvalidConfig, "ENGINE = InnoDB")
	}
	s.Do("ALTER TABLE leaf_alloc ENGINE = InnoDB")
	if _, err := required.Tags(s.Within()); err != nil || len(required.Warnings()) > 0 {
		t.Errorf("Tags: %v; Warnings: %v", err, required.Warnings())
	}
}

package mysql

import (
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestSafety: what makes a take unsafe is met, on one server.
func TestSafety(t *testing.T) {
	s, pool := start(t)
	for name, run := range map[string]func(*testing.T, *mysqltest.Server, *sql.DB){
		"autocommit":  checkAutocommit,
		"aba":         checkABA,
		"safeupdates": checkSafeUpdates,
		"settings":    checkSettings,
		"chain":       checkChain,
		"narrow":      checkNarrow,
		"rights":      checkRights,
		"readonly":    checkReadOnly,
		"trigger":     checkTrigger,
		"deadlock":    checkDeadLock,
	} {
		t.Run(name, func(t *testing.T) { run(t, s, pool) })
		exec(t, pool, "DELETE FROM leaf_alloc")
	}
}

// checkAutocommit: with autocommit off, what is handed out is stored all the same, also when the connection is lost.
func checkAutocommit(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	create(t, store(t, pool, nil), "a", 1, 10)
	for n := range int64(3) {
		own := connect(t, s.DSN("?autocommit=0"))
		off := store(t, own, nil)
		wantTake(t, off, "a", 10, 1+5*n)
		if done, err := off.GiveBack(within(t), "a", segment.Range{First: 6 + 5*n, Last: 10 + 5*n}); !done || err != nil {
			t.Errorf("GiveBack with autocommit off: %v, %v", done, err)
		}
		_ = own.Close()
		if got := next(t, pool, "a"); got != 6+5*n {
			t.Errorf("max_id is %d", got)
		}
	}
}

// TestBound: a column that is nearly full is not clamped, whatever the mode and the type; the last number
// is handed out; and a wider column is noticed.
func TestBound(t *testing.T) {
	s, pool := start(t)
	for _, mode := range []string{"TRADITIONAL", ""} {
		for kind, bound := range map[string]int64{
			"tinyint": 127, "smallint unsigned": 65535, "mediumint": 1<<23 - 1, "int(11)": math.MaxInt32, "int unsigned": math.MaxUint32,
			"bigint": math.MaxInt64, "bigint unsigned": math.MaxInt64, "decimal(5,0)": 99999,
		} {
			exec(t, pool, "DROP TABLE leaf_alloc")
			exec(t, pool, strings.Replace(Schema(""), "max_id bigint", "max_id "+kind, 1))
			st := store(t, connect(t, s.DSN("?sql_mode=%27"+mode+"%27")), nil)
			create(t, st, "a", bound-25, 10)
			wantTake(t, st, "a", 10, bound-25)
			wantTake(t, st, "a", 10, bound-15)
			if r, err := st.Take(within(t), "a", 10); err != nil || r != (segment.Range{First: bound - 5, Last: bound - 1}) {
				t.Errorf("%s in mode %q: the last range is %v, %v", kind, mode, r, err)
			}
			for _, step := range []int64{0, 1, 10} {
				if r, err := st.Take(within(t), "a", step); !errors.Is(err, segment.ErrExhausted) {
					t.Errorf("%s in mode %q: after the last range came %v, %v", kind, mode, r, err)
				}
			}
			if bound == math.MaxInt64 {
				continue
			}
			if err := st.Create(within(t), segment.Tag{Name: "b", Next: bound + 1, Step: 1}); !errors.Is(err, segment.ErrInvalidConfig) {
				t.Errorf("%s in mode %q: Create above the bound: %v", kind, mode, err)
			}
			exec(t, pool, "ALTER TABLE leaf_alloc MODIFY max_id bigint NOT NULL")
			wantTake(t, st, "a", 10, bound)
		}
	}
	exec(t, pool, "DROP TABLE leaf_alloc")
	exec(t, pool, strings.Replace(Schema(""), "max_id bigint", "max_id double", 1))
	if _, err := store(t, pool, nil).Tags(within(t)); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "bigint") {
		t.Errorf("a column of type double: %v", err)
	}
}

// checkABA: a return that arrives twice gives out the same numbers twice, if somebody has taken exactly that
// rest in between. So it is sent once, in a transaction that no proxy repeats by itself.
func checkABA(t *testing.T, _ *mysqltest.Server, pool *sql.DB) {
	s := store(t, pool, nil)
	create(t, s, "a", 1, 10)
	wantTake(t, s, "a", 10, 1)
	// The store is asked once; its statement is the delayed attempt 1, and what is sent here is attempt 2.
	held, err := pool.BeginTx(within(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	const giveBack = "UPDATE leaf_alloc SET max_id = 6 WHERE biz_tag = 'a' AND max_id = 11"
	if done, err := s.GiveBack(within(t), "a", segment.Range{First: 6, Last: 10}); !done || err != nil {
		t.Fatal(done, err)
	}
	wantTake(t, s, "a", 5, 6) // somebody takes exactly that rest
	if _, err := held.ExecContext(within(t), giveBack); err != nil {
		t.Fatal(err)
	}
	if err := held.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := next(t, pool, "a"); n != 6 {
		t.Fatalf("a repetition is harmless here, max_id is %d: does this test still show why it is sent once?", n)
	}
}

// checkSafeUpdates: the server's mode for beginners is met.
func checkSafeUpdates(t *testing.T, s *mysqltest.Server, _ *sql.DB) {
	safe := store(t, connect(t, s.DSN("?sql_safe_updates=1")), nil)
	create(t, safe, "a", 1, 10)
	wantTake(t, safe, "a", 10, 1)
	if done, err := safe.GiveBack(within(t), "a", segment.Range{First: 5, Last: 10}); !done || err != nil {
		t.Error(done, err)
	}
	if err := safe.Advance(within(t), "a", 50); err != nil {
		t.Error(err)
	}
}

// TestDurable: settings with which confirmed ranges can be lost are a warning, or refused.
func TestDurable(t *testing.T) {
	s, pool := start(t, "--innodb-flush-log-at-trx-commit=2", "--log-bin", "--sync-binlog=0")
	st := store(t, pool, nil)
	create(t, st, "a", 1, 10)
	if w := strings.Join(st.Warnings(), "\n"); !strings.Contains(w, "innodb_flush_log_at_trx_commit") || !strings.Contains(w, "sync_binlog") {
		t.Errorf("Warnings: %s", w)
	}
	url := "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + s.Addr() + "/" + mysqltest.Database + "?durable=require"
	if _, err := segment.Open(within(t), url, segment.OpenOptions{}); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "innodb_flush_log_at_trx_commit") {
		t.Errorf("Open: %v", err)
	}
	exec(t, pool, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	exec(t, pool, "SET GLOBAL sync_binlog = 1")
	required := store(t, pool, &Options{RequireDurable: true})
	for _, engine := range []string{"MyISAM", "MEMORY", "Aria"} {
		exec(t, pool, "ALTER TABLE leaf_alloc ENGINE = "+engine)
		if _, err := required.Tags(within(t)); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "ENGINE = InnoDB") {
			t.Errorf("Tags with RequireDurable and %s: %v", engine, err)
		}
	}
	exec(t, pool, "ALTER TABLE leaf_alloc ENGINE = InnoDB")
	if _, err := required.Tags(within(t)); err != nil || len(required.Warnings()) > 0 {
		t.Errorf("Tags: %v; Warnings: %v", err, required.Warnings())
	}
}

// checkRights: without the right to make a table there is a warning, and without rights at all it is said which.
func checkRights(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	exec(t, pool, "CREATE USER ann IDENTIFIED BY 'pw'")
	exec(t, pool, "GRANT SELECT, UPDATE ON unalike.leaf_alloc TO ann")
	create(t, store(t, pool, nil), "a", 1, 10)
	exec(t, pool, "DROP TABLE unalike_meta")
	ann := store(t, connect(t, "ann:pw@tcp("+s.Addr()+")/unalike"), nil)
	wantTake(t, ann, "a", 10, 1)
	if w := strings.Join(ann.Warnings(), "\n"); !strings.Contains(w, "unalike_meta") || !strings.Contains(w, "CREATE TABLE") {
		t.Errorf("Warnings: %s", w)
	}
	if err := ann.Advance(within(t), "a", 100); err != nil {
		t.Error(err)
	}
	exec(t, pool, "REVOKE UPDATE ON unalike.leaf_alloc FROM ann")
	if _, err := ann.Take(within(t), "a", 10); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "UPDATE") {
		t.Errorf("Take without the right: %v", err)
	}
}

// checkReadOnly: a replica says that it is one.
func checkReadOnly(t *testing.T, s *mysqltest.Server, pool *sql.DB) {
	create(t, store(t, pool, nil), "a", 1, 10)
	exec(t, pool, "CREATE USER bob IDENTIFIED BY 'pw'")
	exec(t, pool, "GRANT ALL ON unalike.* TO bob")
	bob := store(t, connect(t, "bob:pw@tcp("+s.Addr()+")/unalike"), nil)
	wantTake(t, bob, "a", 10, 1)
	exec(t, pool, "SET GLOBAL read_only = 1")
	if _, err := bob.Take(within(t), "a", 10); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Take from a server that is read-only: %v", err)
	}
	exec(t, pool, "SET GLOBAL read_only = 0")
	wantTake(t, bob, "a", 10, 11)
}

// checkTrigger: whatever a trigger on the table does, a range is one of what was stored before and after it: it changes what the server says of
// identities that were inserted, or max_id itself, also so that nothing is handed out.
func checkTrigger(t *testing.T, _ *mysqltest.Server, pool *sql.DB) {
	st := store(t, pool, nil)
	create(t, st, "a", 1000, 10)
	exec(t, pool, "CREATE TABLE audit (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(10))")
	exec(t, pool, "INSERT INTO audit (what) VALUES ('x'), ('y')")
	for _, trigger := range []string{
		"AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (what) VALUES ('z')",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.description = LAST_INSERT_ID(5)",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = NEW.max_id + 1000",
		"BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 3",
	} {
		exec(t, pool, "CREATE TRIGGER moved "+trigger)
		before := next(t, pool, "a")
		r, err := st.Take(within(t), "a", 10)
		if after := next(t, pool, "a"); err == nil && (r.Len() != 10 || r.First < before || r.Last >= after) || err != nil && !strings.Contains(trigger, "max_id") {
			t.Errorf("with %s: %v, %v; max_id went from %d to %d", trigger, r, err, before, after)
		}
		exec(t, pool, "DROP TRIGGER moved")
	}
}

// checkDeadLock: a take that was chosen to end a dead lock is tried again.
func checkDeadLock(t *testing.T, _ *mysqltest.Server, pool *sql.DB) {
	st := store(t, pool, nil)
	create(t, st, "a", 1, 10)
	wantTake(t, st, "a", 10, 1)
	exec(t, pool, "CREATE TABLE heavy (n int)")
	tx, err := pool.BeginTx(within(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	run := func(statement string) {
		t.Helper()
		if _, err := tx.ExecContext(within(t), statement); err != nil {
			t.Fatal(err)
		}
	}
	// Who has changed more is not chosen.
	run("INSERT INTO heavy SELECT seq FROM seq_1_to_1000")
	run("SELECT 1 FROM leaf_alloc WHERE biz_tag = 'a' LOCK IN SHARE MODE")
	status := func(name string) (n int64) {
		if err := pool.QueryRowContext(within(t), "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '"+name+"'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		wantTake(t, st, "a", 10, 11)
	}()
	streamtest.Eventually(t, "the take waits", func() bool { return status("INNODB_ROW_LOCK_CURRENT_WAITS") == 1 })
	run("UPDATE leaf_alloc SET description = 'x' WHERE biz_tag = 'a'")
	if n := status("INNODB_DEADLOCKS"); n != 1 {
		t.Errorf("there were %d dead locks: does this test still make one?", n)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	<-taken
}

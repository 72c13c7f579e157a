package postgres

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface, also over a pooler in transaction mode, where each
// transaction may have another connection.
func TestSuite(t *testing.T) {
	s := start(t)
	for name, url := range map[string]string{"server": s.URL(), "pgbouncer": s.Bouncer(t)} {
		t.Run(name, func(t *testing.T) {
			segmenttest.Run(t, func(tb testing.TB) segment.Store {
				return openStore(tb, url, Options{})
			})
		})
	}
}

// TestBound: the last number that a column can hold as the next one is handed out, whatever its
// type.
func TestBound(t *testing.T) {
	s := start(t)
	s.Bound(func() sqlsegmenttest.Store { return s.with("") }, map[string]int64{
		"smallint": 32767, "integer": math.MaxInt32, "bigint": math.MaxInt64,
		"numeric": math.MaxInt64, "numeric(6,0)": 999999,
	})
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s := start(t)
	s.Do("CREATE SCHEMA ids", Schema("ids.numbers"))
	url := "postgres://postgres:secret@127.0.0.1:" + s.Port + "/postgres"
	s.URLs("secret", []string{url, url + "?table=ids.numbers&failover=skip:1000"}, map[string]string{
		url + "?durable=require": "fsync", url + "?prefix=x": "unknown option",
		url + "?table=missing": `CREATE TABLE "missing" (biz_tag varchar(128)`,
	})
	unprepared, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer unprepared.Close()
	_, err = New(unprepared, Options{})
	s.WantErr("a pool as it is", err, segment.ErrInvalidConfig, "postgres.Prepare")
}

// TestRowSecurity: a user from whom row-level security may hide rows is refused.
func TestRowSecurity(t *testing.T) {
	s := start(t)
	s.Create("a", 1)
	s.Do("CREATE ROLE app LOGIN", "GRANT SELECT, INSERT, UPDATE ON leaf_alloc, unalike_meta TO app",
		"ALTER TABLE leaf_alloc ENABLE ROW LEVEL SECURITY")
	url := "postgres://app@127.0.0.1:" + s.Port + "/postgres"
	_, err := segment.Open(s.Within(), url, segment.OpenOptions{})
	s.WantErr("with row-level security", err, segment.ErrInvalidConfig,
		"row-level security applies to this user in the tables leaf_alloc")
	s.Do("ALTER ROLE app BYPASSRLS")
	st, err := segment.Open(s.Within(), url, segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestSafety: what makes a take unsafe, or slow, is met, on one server.
func TestSafety(t *testing.T) {
	s := start(t, "-c", "fsync=on", "-c", "full_page_writes=on")
	for name, run := range map[string]func(server){
		"trigger":   checkTrigger,
		"committed": checkCommitted,
		"unlogged":  checkUnlogged,
		"index":     checkIndex,
		"latin1":    checkLatin1,
		"standby":   checkStandby,
	} {
		t.Run(name, func(t *testing.T) { run(server{s.On(t), s.Server}) })
		s.Do("DELETE FROM leaf_alloc")
	}
}

// checkCommitted: whatever the user's settings are, a take is committed as on disk.
func checkCommitted(s server) {
	s.Create("a", 1)
	s.Do("CREATE TABLE levels (level text)",
		"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"+
			" INSERT INTO levels VALUES (current_setting('synchronous_commit')); RETURN NEW; END$$",
		"CREATE TRIGGER note BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION note()")
	defer s.Do("DROP TRIGGER note ON leaf_alloc")
	first := int64(1)
	for _, level := range []string{"off", "local", "remote_write", "on", "remote_apply"} {
		st := s.with("?synchronous_commit=" + level + "&default_transaction_isolation=serializable")
		s.WantTake(st, "a", first)
		s.WantBack(st, "a", first+5, first+9)
		first += 5
	}
	n := s.Int("SELECT COUNT(*) FROM levels WHERE level IN ('on', 'remote_apply')")
	if n != 10 {
		s.Errorf("%d of 10 were committed with synchronous_commit on", n)
	}
}

// checkUnlogged: a table that is empty after a crash is a warning, or refused.
func checkUnlogged(s server) {
	s.Do("ALTER TABLE leaf_alloc SET UNLOGGED")
	st := s.with("")
	_, err := st.Tags(s.Within())
	if err != nil || !strings.Contains(strings.Join(st.Warnings(), "\n"), "UNLOGGED") {
		s.Errorf("Tags: %v; Warnings: %v", err, st.Warnings())
	}
	required := openStore(s, s.URL(), Options{RequireDurable: true})
	_, err = required.Tags(s.Within())
	s.WantErr("Tags with RequireDurable", err, segment.ErrInvalidConfig, "UNLOGGED")
	s.Do("ALTER TABLE leaf_alloc SET LOGGED")
	if _, err := required.Tags(s.Within()); err != nil {
		s.Error(err)
	}
}

// checkIndex: the row of a tag is found by the index of its column, whatever the collation of that
// is.
func checkIndex(s server) {
	s.Do(`ALTER TABLE leaf_alloc ALTER biz_tag TYPE varchar(128) COLLATE "C"`,
		"INSERT INTO leaf_alloc (biz_tag, step) SELECT 't' || n, 10 FROM generate_series(1, 5000) n",
		"VACUUM ANALYZE leaf_alloc")
	const read = "SELECT pg_stat_get_tuples_returned('leaf_alloc'::regclass)"
	const flush = "SELECT pg_stat_force_next_flush()"
	s.Do(flush)
	before := s.Int(read)
	st := s.with("")
	for i := range int64(20) {
		s.WantTake(st, "t77", 1+10*i)
	}
	s.Do(flush)
	if n := s.Int(read) - before; n > 5000 {
		s.Errorf("20 takes have read %d rows of a table of 5000", n)
	}
}

// checkLatin1: a tag is the same in a database of another encoding, and one that it cannot have is
// refused.
func checkLatin1(s server) {
	s.Do("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	url := strings.TrimSuffix(s.URL(), "/postgres") + "/latin"
	if _, err := connect(s, url).ExecContext(s.Context(), Schema("")); err != nil {
		s.Fatal(err)
	}
	st := openStore(s, url, Options{})
	const tag = `Größe \ 'x'`
	if err := st.Create(s.Context(), segment.Tag{Name: tag, Next: 1, Step: 10}); err != nil {
		s.Fatal(err)
	}
	s.WantTake(st, tag, 1)
	if all, err := st.Tags(s.Context()); err != nil || len(all) != 1 || all[0].Name != tag {
		s.Errorf("Tags: %v, %v", all, err)
	}
	s.WantRefused(st, "漢字", segment.ErrInvalidConfig, "")
}

// checkStandby: a URL that leads to a standby alone says so, and does not ask what listens there.
func checkStandby(s server) {
	st, err := segment.Open(s.Within(), s.Standby(s).URL(), segment.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	_, err = st.Take(s.Within(), "a", 10)
	if err == nil || !strings.Contains(err.Error(), "replica") ||
		strings.Contains(err.Error(), "is it the port") {
		s.Errorf("Take: %v", err)
	}
}

// checkTrigger: whatever a trigger or a view does to what is stored, nothing that is stored
// otherwise is handed out, and the row is as before.
func checkTrigger(s server) {
	st := s.Create("a", 95)
	const update = "CREATE TRIGGER moved BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION f()"
	for _, c := range []struct {
		body    string
		changed bool
	}{
		{"NEW.max_id := NEW.max_id + 1000; RETURN NEW;", true},
		{"NEW.max_id := LEAST(NEW.max_id, 100); RETURN NEW;", true},
		{"RETURN OLD;", true},
		{"RETURN NULL;", true},
		{"NEW.step := NEW.step + 1; RETURN NEW;", false},
	} {
		s.Do("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "+c.body+" END$$", update)
		s.WantWhole(st, "a", c.changed, c.body)
		s.Do("DROP TRIGGER moved ON leaf_alloc", "DROP FUNCTION f()")
	}
	s.Do("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE leaf_alloc SET "+
		"max_id = 95 WHERE biz_tag = 'a'; RETURN NULL; END$$", "CREATE TRIGGER moved AFTER UPDATE ON "+
		"leaf_alloc FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION f()")
	s.WantWhole(st, "a", true, "an AFTER trigger")
	s.Do("DROP TRIGGER moved ON leaf_alloc", "DROP FUNCTION f()",
		"CREATE VIEW numbers AS SELECT * FROM leaf_alloc",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
		"CREATE TRIGGER moved INSTEAD OF UPDATE ON numbers FOR EACH ROW EXECUTE FUNCTION f()")
	view := openStore(s, s.URL(), Options{Table: "numbers"})
	s.WantWhole(view, "a", true, "a view that stores nothing")
	s.Do("DROP VIEW numbers", "DROP FUNCTION f()")
}

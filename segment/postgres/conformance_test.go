package postgres

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface, also over a pooler in transaction mode, where each
// transaction may have another connection.
func TestSuite(t *testing.T) {
	s, _ := start(t)
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
	s, d := start(t)
	sqlsegmenttest.Bound(t, d, func(tb testing.TB) sqlsegmenttest.Store { return with(tb, s, "") },
		map[string]int64{
			"smallint": 32767, "integer": math.MaxInt32, "bigint": math.MaxInt64,
			"numeric": math.MaxInt64, "numeric(6,0)": 999999,
		})
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s, d := start(t)
	d.Do(t, "CREATE SCHEMA ids", Schema("ids.numbers"))
	url := "postgres://postgres:secret@127.0.0.1:" + s.Port + "/postgres"
	for _, more := range []string{"", "?table=ids.numbers&failover=skip:1000"} {
		st, err := segment.Open(sqlsegmenttest.Within(t), url+more, segment.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if _, err := st.Tags(sqlsegmenttest.Within(t)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
		_ = st.Close()
	}
	for more, want := range map[string]string{
		"?durable=require": "fsync", "?prefix=x": "unknown option",
		"?table=missing": `CREATE TABLE "missing" (biz_tag varchar(128)`,
	} {
		_, err := segment.Open(sqlsegmenttest.Within(t), url+more, segment.OpenOptions{})
		sqlsegmenttest.WantErr(t, more, err, segment.ErrInvalidConfig, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the password: %v", more, err)
		}
	}
	unprepared, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer unprepared.Close()
	_, err = New(unprepared, Options{})
	sqlsegmenttest.WantErr(t, "a pool as it is", err, segment.ErrInvalidConfig, "postgres.Prepare")
}

// TestSafety: what makes a take unsafe, or slow, is met, on one server.
func TestSafety(t *testing.T) {
	s, d := start(t, "-c", "fsync=on", "-c", "full_page_writes=on")
	for name, run := range map[string]func(*testing.T, *pgtest.Server, *sqlsegmenttest.Database){
		"committed": checkCommitted,
		"unlogged":  checkUnlogged,
		"index":     checkIndex,
		"latin1":    checkLatin1,
		"standby":   checkStandby,
	} {
		t.Run(name, func(t *testing.T) { run(t, s, d) })
		d.Do(t, "DELETE FROM leaf_alloc")
	}
}

// checkCommitted: whatever the user's settings are, a take is committed as on disk.
func checkCommitted(t *testing.T, s *pgtest.Server, d *sqlsegmenttest.Database) {
	d.Create(t, "a", 1)
	d.Do(t, "CREATE TABLE levels (level text)",
		"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"+
			" INSERT INTO levels VALUES (current_setting('synchronous_commit')); RETURN NEW; END$$",
		"CREATE TRIGGER note BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION note()")
	defer d.Do(t, "DROP TRIGGER note ON leaf_alloc")
	first := int64(1)
	for _, level := range []string{"off", "local", "remote_write", "on", "remote_apply"} {
		st := with(t, s, "?synchronous_commit="+level+"&default_transaction_isolation=serializable"+
			"&default_transaction_read_only=on")
		sqlsegmenttest.WantTake(t, st, "a", first)
		sqlsegmenttest.WantBack(t, st, "a", first+5, first+9)
		first += 5
	}
	n := d.Int(t, "SELECT COUNT(*) FROM levels WHERE level IN ('on', 'remote_apply')")
	if n != 10 {
		t.Errorf("%d of 10 were committed with synchronous_commit on", n)
	}
}

// checkUnlogged: a table that is empty after a crash is a warning, or refused.
func checkUnlogged(t *testing.T, s *pgtest.Server, d *sqlsegmenttest.Database) {
	d.Do(t, "ALTER TABLE leaf_alloc SET UNLOGGED")
	st := with(t, s, "")
	_, err := st.Tags(sqlsegmenttest.Within(t))
	if err != nil || !strings.Contains(strings.Join(st.Warnings(), "\n"), "UNLOGGED") {
		t.Errorf("Tags: %v; Warnings: %v", err, st.Warnings())
	}
	required := openStore(t, s.URL(), Options{RequireDurable: true})
	_, err = required.Tags(sqlsegmenttest.Within(t))
	sqlsegmenttest.WantErr(t, "Tags with RequireDurable", err, segment.ErrInvalidConfig, "UNLOGGED")
	d.Do(t, "ALTER TABLE leaf_alloc SET LOGGED")
	if _, err := required.Tags(sqlsegmenttest.Within(t)); err != nil {
		t.Error(err)
	}
}

// checkIndex: the row of a tag is found by the index of its column, whatever the collation of that
// is.
func checkIndex(t *testing.T, s *pgtest.Server, d *sqlsegmenttest.Database) {
	d.Do(t, `ALTER TABLE leaf_alloc ALTER biz_tag TYPE varchar(128) COLLATE "C"`,
		"INSERT INTO leaf_alloc (biz_tag, step) SELECT 't' || n, 10 FROM generate_series(1, 5000) n",
		"VACUUM ANALYZE leaf_alloc")
	const read = "SELECT pg_stat_get_tuples_returned('leaf_alloc'::regclass)"
	const flush = "SELECT pg_stat_force_next_flush()"
	d.Do(t, flush)
	before := d.Int(t, read)
	st := with(t, s, "")
	for i := range int64(20) {
		sqlsegmenttest.WantTake(t, st, "t77", 1+10*i)
	}
	d.Do(t, flush)
	if n := d.Int(t, read) - before; n > 5000 {
		t.Errorf("20 takes have read %d rows of a table of 5000", n)
	}
}

// checkLatin1: a tag is the same in a database of another encoding, and one that it cannot have is
// refused.
func checkLatin1(t *testing.T, s *pgtest.Server, d *sqlsegmenttest.Database) {
	d.Do(t, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	url := strings.TrimSuffix(s.URL(), "/postgres") + "/latin"
	if _, err := connect(t, url).ExecContext(t.Context(), Schema("")); err != nil {
		t.Fatal(err)
	}
	st := openStore(t, url, Options{})
	const tag = `Größe \ 'x'`
	if err := st.Create(t.Context(), segment.Tag{Name: tag, Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	sqlsegmenttest.WantTake(t, st, tag, 1)
	if all, err := st.Tags(t.Context()); err != nil || len(all) != 1 || all[0].Name != tag {
		t.Errorf("Tags: %v, %v", all, err)
	}
	sqlsegmenttest.WantRefused(t, st, "漢字", segment.ErrInvalidConfig, "")
}

// checkStandby: a URL that leads to a standby alone says so, and does not ask what listens there.
func checkStandby(t *testing.T, s *pgtest.Server, _ *sqlsegmenttest.Database) {
	st, err := segment.Open(sqlsegmenttest.Within(t), s.Standby(t).URL(), segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	_, err = st.Take(sqlsegmenttest.Within(t), "a", 10)
	if err == nil || !strings.Contains(err.Error(), "replica") ||
		strings.Contains(err.Error(), "is it the port") {
		t.Errorf("Take: %v", err)
	}
}

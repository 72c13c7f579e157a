package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/segment"
)

// TestMisfits: columns that are not those of the table are said to be so.
func TestMisfits(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	sqlsegmenttest.Misfits(t, database(s, p), "ALTER TABLE leaf_alloc ALTER max_id TYPE numeric(20,2)", "ALTER TABLE leaf_alloc ALTER max_id TYPE bigint")
}

// TestIndex: the row of a tag is found by the index of its column, whatever the collation of that is.
func TestIndex(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	exec(t, pool, `ALTER TABLE leaf_alloc ALTER biz_tag TYPE varchar(128) COLLATE "C"`)
	exec(t, pool, "INSERT INTO leaf_alloc (biz_tag, step) SELECT 't' || n, 10 FROM generate_series(1, 5000) n")
	exec(t, pool, "VACUUM ANALYZE leaf_alloc")
	read := func() (n int64) {
		if err := pool.QueryRowContext(within(t), "SELECT pg_stat_get_tuples_returned('leaf_alloc'::regclass)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	st := openStore(t, s.URL(), &sqlsegmenttest.Wire{}, nil)
	for i := range int64(20) {
		wantTake(t, st, "t77", 10, 1+10*i)
	}
	exec(t, pool, "SELECT pg_stat_force_next_flush()")
	if n := read(); n > 5000 {
		t.Errorf("20 takes have read %d rows of a table of 5000, beyond those that analysing it has", n)
	}
}

// TestStandbyURL: a URL that leads to a standby alone says so, and does not ask what listens there.
func TestStandbyURL(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	standby := s.Standby(t)
	st, err := segment.Open(within(t), "postgres://postgres@127.0.0.1:"+standby.Port+"/postgres", segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Take(within(t), "a", 10); err == nil || !strings.Contains(err.Error(), "replica") || strings.Contains(err.Error(), "is it the port") {
		t.Errorf("Take: %v", err)
	}
}

// TestLatin1: a tag is the same in a database of another encoding, and one that it cannot have is refused.
func TestLatin1(t *testing.T) {
	t.Parallel()
	s, pool := start(t)
	exec(t, pool, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	url := strings.TrimSuffix(s.URL(), "/postgres") + "/latin"
	exec(t, connect(t, url), Schema(""))
	st := openStore(t, url, &sqlsegmenttest.Wire{}, nil)
	const tag = `Größe \ 'x'`
	if err := st.Create(within(t), segment.Tag{Name: tag, Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	set, err := segment.NewSet(within(t), st, segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close(within(t))
	if n, err := set.Next(within(t), tag); n != 1 || err != nil {
		t.Errorf("Next = %d, %v", n, err)
	}
	if _, err := st.Take(within(t), "漢字", 10); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("Take of a tag that the database cannot have: %v", err)
	}
}

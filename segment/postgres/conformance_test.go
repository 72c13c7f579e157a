package postgres

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s, _ := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return openStore(tb, s.URL(), &sqlsegmenttest.Wire{}, nil) })
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s, pool := start(t)
	exec(t, pool, "CREATE SCHEMA ids")
	exec(t, pool, Schema("ids.numbers"))
	url := "postgres://postgres:secret@127.0.0.1:" + s.Port + "/postgres"
	for _, more := range []string{"", "?table=leaf_alloc", "?table=ids.numbers&failover=skip:1000"} {
		st, err := segment.Open(within(t), url+more, segment.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if err := st.(segment.Creator).Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
			t.Errorf("%s: %v", more, err)
			if !errors.Is(err, segment.ErrTagExists) {
				continue
			}
		}
		exec(t, pool, "DELETE FROM leaf_alloc")
		_ = st.Close()
	}
	for more, want := range map[string]string{
		"?durable=require": "fsync", "?table=missing": `CREATE TABLE "missing" (biz_tag varchar(128)`, "?prefix=x": "unknown option",
	} {
		_, err := segment.Open(within(t), url+more, segment.OpenOptions{})
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", more, err, want)
		}
	}
}

// TestBound: the last number that a column can hold as the next one is handed out, whatever its type.
func TestBound(t *testing.T) {
	s, pool := start(t)
	for kind, bound := range map[string]int64{"smallint": 32767, "integer": math.MaxInt32, "bigint": math.MaxInt64, "numeric": math.MaxInt64, "numeric(6,0)": 999999} {
		exec(t, pool, "DROP TABLE leaf_alloc")
		exec(t, pool, strings.Replace(Schema(""), "max_id bigint", "max_id "+kind, 1))
		st := openStore(t, s.URL(), &sqlsegmenttest.Wire{}, nil)
		if err := st.Create(within(t), segment.Tag{Name: "a", Next: bound - 15, Step: 10}); err != nil {
			t.Fatal(err)
		}
		wantTake(t, st, "a", 10, bound-15)
		if r, err := st.Take(within(t), "a", 10); err != nil || r != (segment.Range{First: bound - 5, Last: bound - 1}) {
			t.Errorf("%s: the last range is %v, %v", kind, r, err)
		}
		if r, err := st.Take(within(t), "a", 10); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("%s: after the last range came %v, %v", kind, r, err)
		}
	}
}

// TestCommitted: whatever the user's settings are, a take is committed as on disk.
func TestCommitted(t *testing.T) {
	s, pool := start(t)
	exec(t, pool, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('a', 10)")
	exec(t, pool, "CREATE TABLE levels (level text)")
	exec(t, pool, "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO levels VALUES (current_setting('synchronous_commit')); RETURN NEW; END$$")
	exec(t, pool, "CREATE TRIGGER note BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION note()")
	first := int64(1)
	for _, level := range []string{"off", "local", "remote_write", "on", "remote_apply"} {
		st := openStore(t, s.URL()+"?synchronous_commit="+level+"&default_transaction_isolation=serializable&default_transaction_read_only=on", &sqlsegmenttest.Wire{}, nil)
		wantTake(t, st, "a", 10, first)
		if done, err := st.GiveBack(within(t), "a", segment.Range{First: first + 5, Last: first + 9}); !done || err != nil {
			t.Errorf("%s: GiveBack: %v, %v", level, done, err)
		}
		first += 5
	}
	var n int
	if err := pool.QueryRowContext(within(t), "SELECT COUNT(*) FROM levels WHERE level IN ('on', 'remote_apply')").Scan(&n); err != nil || n != 10 {
		t.Errorf("%d of 10 were committed with synchronous_commit on, %v", n, err)
	}
}

package mysql

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s, _ := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return with(tb, s, "") })
}

// TestBound: a column that is nearly full is not clamped, whatever the mode and the type.
func TestBound(t *testing.T) {
	s, d := start(t)
	for _, mode := range []string{"TRADITIONAL", ""} {
		sqlsegmenttest.Bound(t, d, func(tb testing.TB) sqlsegmenttest.Store {
			tb.Helper()
			return with(tb, s, "?sql_mode=%27"+mode+"%27")
		}, map[string]int64{
			"tinyint": 127, "smallint unsigned": 65535, "mediumint": 1<<23 - 1, "int(11)": math.MaxInt32,
			"int unsigned": math.MaxUint32, "bigint": math.MaxInt64, "bigint unsigned": math.MaxInt64,
			"decimal(5,0)": 99999,
		})
	}
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s, _ := start(t)
	for _, more := range []string{
		"", "?table=leaf_alloc", "?failover=stop",
		"?table=unalike.leaf_alloc&durable=warn&failover=skip:1000",
	} {
		st, err := segment.Open(sqlsegmenttest.Within(t), url(s)+more, segment.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if _, err := st.Tags(sqlsegmenttest.Within(t)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
		_ = st.Close()
	}
	for bad, want := range map[string]string{
		url(s) + "?table=a.b.c": "table", url(s) + "?table=x%3Bdrop": "letters",
		url(s) + "?durable=no": "require or warn", url(s) + "?failover=skip": "skip:N",
		url(s) + "?failover=skip:0": "skip:N", url(s) + "?namespace=x": "unknown option",
		url(s) + "?ca=x":                          "mysqls://",
		url(s) + "?table=missing":                 "CREATE TABLE `missing` (biz_tag varchar(128)",
		url(s) + "?durable=require&table=missing": "CREATE TABLE",
		"mysql://h/db":                            "", "mysql://u:p@/db": "", "mysql://u:p@h": "",
		"mysql://u:p@h,i/db": "",
		"mysql://u:p@h/a/b":  "", "mysql://u:p@h/db?socket=/s": "",
	} {
		_, err := segment.Open(sqlsegmenttest.Within(t), bad, segment.OpenOptions{})
		sqlsegmenttest.WantErr(t, bad, err, segment.ErrInvalidConfig, want)
		if strings.Contains(err.Error(), mysqltest.Password+"@") {
			t.Errorf("%s: the error has the password: %v", bad, err)
		}
	}
}

// TestBesideLeaf: an unchanged Leaf uses the same table at the same time, with its own statements,
// and no number comes twice.
func TestBesideLeaf(t *testing.T) {
	_, d := start(t)
	const rounds = 200
	s := d.Create(t, "shared", 1)
	var numbers sync.Map
	note := func(n int64, err error) {
		if _, twice := numbers.LoadOrStore(n, true); twice || err != nil {
			t.Errorf("number %d: given out twice %v, error %v", n, twice, err)
		}
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range rounds {
				r, err := s.Take(sqlsegmenttest.Within(t), "shared", 1)
				note(r.First, err)
			}
		})
		running.Go(func() {
			for range rounds {
				note(leaf(t, d))
			}
		})
	}
	running.Wait()
	if got := d.Next(t, "shared"); got != 1+4*rounds+4*10*rounds {
		t.Errorf("max_id is %d after all", got)
	}
}

// leaf takes a range as Leaf does, and returns its first number.
func leaf(t *testing.T, d *sqlsegmenttest.Database) (int64, error) {
	ctx := sqlsegmenttest.Within(t)
	tx, err := d.SQL.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	var next, step int64
	_, err = tx.ExecContext(ctx,
		"UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'shared'")
	err = errors.Join(err, tx.QueryRowContext(ctx,
		"SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'shared'").Scan(&next, &step), tx.Commit())
	return next - step, err
}

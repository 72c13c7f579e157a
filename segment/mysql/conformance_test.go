package mysql

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/sqlsegment/sqlsegmenttest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store {
		return server{s.On(tb), s.Server}.with("")
	})
}

// TestBound: a column that is nearly full is not clamped, whatever the mode and the type.
func TestBound(t *testing.T) {
	s := start(t)
	for _, mode := range []string{"TRADITIONAL", ""} {
		s.Bound(func() sqlsegmenttest.Store {
			return s.with("?sql_mode=%27" + mode + "%27")
		}, map[string]int64{
			"tinyint": 127, "smallint unsigned": 65535, "mediumint": 1<<23 - 1, "int(11)": math.MaxInt32,
			"int unsigned": math.MaxUint32, "bigint": math.MaxInt64, "bigint unsigned": math.MaxInt64,
			"decimal(5,0)": 99999,
		})
	}
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s := start(t)
	url := s.StoreURL
	s.URLs(mysqltest.Password+"@", []string{
		url, url + "?table=leaf_alloc", url + "?failover=stop",
		url + "?table=unalike.leaf_alloc&durable=warn&failover=skip:1000",
	}, map[string]string{
		url + "?table=a.b.c": "table", url + "?table=x%3Bdrop": "letters",
		url + "?durable=no": "require or warn", url + "?failover=skip": "skip:N",
		url + "?failover=skip:0": "skip:N", url + "?namespace=x": "unknown option",
		url + "?ca=x":                          "mysqls://",
		url + "?table=missing":                 "CREATE TABLE `missing` (biz_tag varchar(128)",
		url + "?durable=require&table=missing": "CREATE TABLE",
		"mysql://h/db":                         "", "mysql://u:p@/db": "", "mysql://u:p@h": "",
		"mysql://u:p@h,i/db": "",
		"mysql://u:p@h/a/b":  "", "mysql://u:p@h/db?socket=/s": "",
	})
}

// TestBesideLeaf: an unchanged Leaf uses the same table at the same time, with its own statements,
// and no number comes twice.
func TestBesideLeaf(t *testing.T) {
	s := start(t)
	const rounds = 200
	st := s.Create("shared", 1)
	var numbers sync.Map
	note := func(n int64, err error) {
		if _, twice := numbers.LoadOrStore(n, true); twice || err != nil {
			safetytest.Unless(t, err).Errorf("number %d: given out twice %v, error %v", n, twice, err)
		}
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range rounds {
				r, err := st.Take(s.Within(), "shared", 1)
				note(r.First, err)
			}
		})
		running.Go(func() {
			for range rounds {
				note(leaf(s))
			}
		})
	}
	running.Wait()
	if got := s.Next("shared"); got != 1+4*rounds+4*10*rounds && !t.Failed() {
		safetytest.Of(t).Errorf("max_id is %d after all", got)
	}
}

// leaf takes a range as Leaf does, and returns its first number.
func leaf(s server) (int64, error) {
	ctx := s.Within()
	tx, err := s.SQL.BeginTx(ctx, nil)
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

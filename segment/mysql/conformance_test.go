package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s, _ := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return store(tb, connect(tb, s.DSN("")), nil) })
}

// TestURL: a store is opened by its URL, and what is wrong with one is said.
func TestURL(t *testing.T) {
	s, _ := start(t)
	url := "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + s.Addr() + "/" + mysqltest.Database
	for _, more := range []string{"", "?table=leaf_alloc", "?table=unalike.leaf_alloc&durable=warn&failover=skip:1000", "?failover=stop"} {
		st, err := segment.Open(within(t), url+more, segment.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if _, err := st.Tags(within(t)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
		_ = st.Close()
	}
	for more, want := range map[string]string{
		"?table=a.b.c": "table", "?table=x%3Bdrop": "letters", "?durable=no": "require or warn", "?failover=skip": "skip:N", "?failover=skip:0": "skip:N",
		"?namespace=x": "unknown option", "?ttl=5s": "unknown option", "?ca=x": "mysqls://",
		"?table=missing": "CREATE TABLE `missing` (biz_tag varchar(128)", "?durable=require&table=missing": "CREATE TABLE",
	} {
		_, err := segment.Open(within(t), url+more, segment.OpenOptions{})
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), mysqltest.Password+"@") {
			t.Errorf("%s: %v; want %q", more, err, want)
		}
	}
	for _, bad := range []string{"mysql://h/db", "mysql://u:p@/db", "mysql://u:p@h", "mysql://u:p@h,i/db", "mysql://u:p@h/a/b", "mysql://u:p@h/db?socket=/s"} {
		if _, err := segment.Open(within(t), bad, segment.OpenOptions{}); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestBesideLeaf: an unchanged Leaf uses the same table at the same time, with its own statements, and no
// number comes twice.
func TestBesideLeaf(t *testing.T) {
	_, pool := start(t)
	s := store(t, pool, nil)
	create(t, s, "shared", 1, 7)
	leaf := func() (segment.Range, error) {
		tx, err := pool.BeginTx(within(t), nil)
		if err != nil {
			return segment.Range{}, err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(within(t), "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'shared'"); err != nil {
			return segment.Range{}, err
		}
		var maxID, step int64
		if err := tx.QueryRowContext(within(t), "SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'shared'").Scan(&maxID, &step); err != nil {
			return segment.Range{}, err
		}
		return segment.Range{First: maxID - step, Last: maxID - 1}, tx.Commit()
	}
	var mu sync.Mutex
	who := map[int64]string{}
	var running sync.WaitGroup
	for i := range 8 {
		name, take := fmt.Sprint("ours ", i), func() (segment.Range, error) { return s.Take(within(t), "shared", int64(i)) }
		if i%2 == 0 {
			name, take = fmt.Sprint("Leaf ", i), leaf
		}
		running.Go(func() {
			for range 50 {
				r, err := take()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for n := r.First; n <= r.Last; n++ {
					if other := who[n]; other != "" {
						t.Errorf("%d is %s's and %s's", n, name, other)
					}
					who[n] = name
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if got := next(t, pool, "shared"); got != int64(len(who))+1 {
		t.Errorf("max_id is %d after %d numbers", got, len(who))
	}
}

package etcd

import (
	"encoding/json"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
)

// TestDamaged: a tag whose key somebody has damaged says so, and the others can be used.
func TestDamaged(t *testing.T) {
	s := etcdtest.Start(t)
	client := s.Client(t)
	read := func(tb testing.TB, tag string) (r record) {
		tb.Helper()
		resp, err := client.Get(within(tb), root+"orders/"+tag)
		if err != nil || len(resp.Kvs) != 1 {
			tb.Fatalf("%s: %v, %v", tag, resp, err)
		}
		if err := json.Unmarshal(resp.Kvs[0].Value, &r); err != nil {
			tb.Fatal(err)
		}
		return r
	}
	put := func(tb testing.TB, tag, value string) {
		tb.Helper()
		if _, err := client.Put(within(tb), root+"orders/"+tag, value); err != nil {
			tb.Fatal(err)
		}
	}
	change := func(set func(r *record, n int64)) func(testing.TB, string, int64) {
		return func(tb testing.TB, tag string, n int64) {
			tb.Helper()
			r := read(tb, tag)
			set(&r, n)
			value, err := json.Marshal(r)
			if err != nil {
				tb.Fatal(err)
			}
			put(tb, tag, string(value))
		}
	}
	damage := numbertest.Damage{
		Next: change(func(r *record, n int64) { r.Next = n }),
		Step: change(func(r *record, n int64) { r.Step = n }),
		Unreadable: func(tb testing.TB, tag string) {
			tb.Helper()
			put(tb, tag, "{")
		},
		Says: "key /unalike/segments/orders/nothing is damaged",
		Read: func(tb testing.TB, tag string) int64 { tb.Helper(); return read(tb, tag).Next },
	}
	numbertest.Damaged(t, store(t, s, nil), damage)
	// What is skipped after a failover does not hide what is wrong.
	r := read(t, "negative")
	r.Next, r.Cluster = -5, "elsewhere"
	value, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	put(t, "negative", string(value))
	after := store(t, s, &Options{Skip: 5000})
	_, err = after.Take(within(t), "negative", 10)
	if damaged := segment.CheckNext("negative", "next in key "+root+"orders/negative", -5, 1<<63-1); err == nil || err.Error() != damaged.Error() || read(t, "negative").Next != -5 {
		t.Errorf("Take of a negative number after a failover: %v", err)
	}
}

package etcd

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
)

// inLine is how many places there are in the line of the tag a.
func inLine(tb testing.TB, client *clientv3.Client) int64 {
	tb.Helper()
	resp, err := client.Get(within(tb), root+"orders/\x00", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		tb.Fatal(err)
	}
	return resp.Count
}

// TestLine: many who take ranges of a tag at once all get theirs, with a few requests each however many they are, and none waits for long.
func TestLine(t *testing.T) {
	t.Parallel()
	const takers, each = 64, 10
	server := etcdtest.Start(t)
	client := server.Client(t)
	if err := store(t, server, nil).Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	count := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, c, opts...)
	})
	var mu sync.Mutex
	var all []segment.Range
	var longest time.Duration
	var running sync.WaitGroup
	began := time.Now()
	for range takers {
		st, err := New(server.Client(t, count), "orders", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		running.Go(func() {
			for range each {
				asked := time.Now()
				r, err := st.Take(within(t), "a", 10)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all, longest = append(all, r), max(longest, time.Since(asked))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	slices.SortFunc(all, func(a, b segment.Range) int { return int(a.First - b.First) })
	for i, r := range all {
		if r.First != int64(1+10*i) || r.Len() != 10 {
			t.Fatalf("range %d in order is %v", i, r)
		}
	}
	if n, most := requests.Load(), int64(7*takers*each); n > most {
		t.Errorf("%d takes were %d requests; want %d at most", takers*each, n, most)
	}
	if longest > took*3/4 {
		t.Errorf("of %d rounds in %v, a take took %v", each, took, longest)
	}
	if n := inLine(t, client); n != 0 {
		t.Errorf("%d places are left in line", n)
	}
	t.Logf("%d takers: %.0f takes/s, %d requests, the longest took %v", takers, float64(len(all))/took.Seconds(), requests.Load(), longest)
}

// TestDeadInLine: places of programs that have ended hold up nobody for long, and are no tags.
func TestDeadInLine(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client, st := server.Client(t), store(t, server, nil)
	if err := st.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := client.Put(within(t), root+"orders/\x00a\x00"+name, ""); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := client.Get(within(t), root+"orders/a")
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatal(resp, err)
	}
	var r record
	if err := json.Unmarshal(resp.Kvs[0].Value, &r); err != nil {
		t.Fatal(err)
	}
	r.Line = true
	value, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(within(t), root+"orders/a", string(value)); err != nil {
		t.Fatal(err)
	}
	if all, err := st.Tags(within(t)); err != nil || len(all) != 1 {
		t.Errorf("Tags: %v, %v", all, err)
	}
	next := store(t, server, nil)
	wantTake(t, next, "a", 10, 1)
	wantTake(t, next, "a", 10, 11)
	if n := inLine(t, client); n != 0 {
		t.Errorf("%d places are left in line", n)
	}
}

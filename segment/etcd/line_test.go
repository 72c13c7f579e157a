package etcd

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// wantEmptyLine checks that no place is left in the line of a tag.
func wantEmptyLine(tb testing.TB, s *etcdtest.Server) {
	tb.Helper()
	resp, err := s.Client(tb).Get(within(tb), root+"orders/\x00", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) > 0 {
		tb.Errorf("in line are left %v, %v", resp, err)
	}
}

// TestLine: many who take ranges of a tag at once all get theirs, with a few requests each however
// many they are, and none waits for long.
func TestLine(t *testing.T) {
	t.Parallel()
	const takers, each = 64, 10
	server := etcdtest.Start(t)
	create(t, store(t, server, Options{}), "a")
	var requests, longest atomic.Int64
	count := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, c, opts...)
	})
	var firsts sync.Map
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
				if _, twice := firsts.LoadOrStore(r.First, true); twice {
					t.Errorf("%d was given out twice", r.First)
				}
				for took, old := int64(time.Since(asked)), longest.Load(); took > old; {
					longest.CompareAndSwap(old, took)
					old = longest.Load()
				}
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	if n, most := requests.Load(), int64(7*takers*each); n > most {
		t.Errorf("%d takes were %d requests; want %d at most", takers*each, n, most)
	}
	if most := time.Duration(longest.Load()); most > took*3/4 {
		t.Errorf("of %d rounds in %v, a take took %v", each, took, most)
	}
	wantTake(t, store(t, server, Options{}), "a", 1+10*takers*each)
	wantEmptyLine(t, server)
}

// TestDeadInLine: places of programs that have ended hold up nobody for long, and are no tags.
func TestDeadInLine(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	k, st := keys{server.Client(t)}, store(t, server, Options{})
	create(t, st, "a")
	for _, name := range []string{"one", "two"} {
		k.put(t, "\x00a\x00"+name, "")
	}
	k.set(t, "a", func(r *record) { r.Line = true })
	if all, err := st.Tags(within(t)); err != nil || len(all) != 1 {
		t.Errorf("Tags: %v, %v", all, err)
	}
	next := store(t, server, Options{})
	wantTake(t, next, "a", 1)
	wantTake(t, next, "a", 11)
	wantEmptyLine(t, server)
}

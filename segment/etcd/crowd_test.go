package etcd

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
)

// TestCrowd: many who take ranges of a tag at once all get theirs, with a few requests each however
// many they are.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const takers, each = 64, 10
	server := etcdtest.Start(t)
	create(t, store(t, server, Options{}), "a")
	var requests atomic.Int64
	count := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, c, opts...)
	})
	var firsts numbertest.Ledger
	var running sync.WaitGroup
	for range takers {
		st, err := New(server.Client(t, count), "orders", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		running.Go(func() {
			for range each {
				r, err := st.Take(within(t), "a", 10)
				if err != nil {
					t.Error(err)
					return
				}
				firsts.Note([]int64{r.First})
			}
		})
	}
	running.Wait()
	firsts.Check(t)
	if n, most := requests.Load(), int64(10*takers*each); n > most {
		t.Errorf("%d takes were %d requests; want %d at most", takers*each, n, most)
	}
	wantTake(t, store(t, server, Options{}), "a", 1+10*takers*each)
}

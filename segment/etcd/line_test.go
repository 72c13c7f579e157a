package etcd

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// wantEmptyLine checks that no place is left in the line of a tag.
func (s server) wantEmptyLine() {
	s.Helper()
	resp, err := s.hand.Get(s.within(), root+"orders/\x00", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) > 0 {
		s.Errorf("in line are left %v, %v", resp, err)
	}
}

// TestLine: many who take ranges of a tag at once all get theirs, with a few requests each however
// many they are, and none waits for long.
func TestLine(t *testing.T) {
	t.Parallel()
	const takers, each = 64, 10
	s := start(t)
	s.create(s.store(0), "a")
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
		st := s.store(0, count)
		running.Go(func() {
			for range each {
				asked := time.Now()
				r, err := st.Take(s.within(), "a", 10)
				if err != nil {
					t.Error(err)
					return
				}
				if _, twice := firsts.LoadOrStore(r.First, true); twice {
					safetytest.Of(t).Errorf("%d was given out twice", r.First)
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
	s.wantTake(s.store(0), "a", 1+10*takers*each)
	s.wantEmptyLine()
}

// TestDeadInLine: places of programs that have ended hold up nobody for long, and are no tags.
func TestDeadInLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	for _, name := range []string{"one", "two"} {
		s.put("\x00a\x00"+name, "")
	}
	s.set("a", func(r *record) { r.Line = true })
	if all, err := st.Tags(s.within()); err != nil || len(all) != 1 {
		t.Errorf("Tags: %v, %v", all, err)
	}
	next := s.store(0)
	s.wantTake(next, "a", 1)
	s.wantTake(next, "a", 11)
	s.wantEmptyLine()
}

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// wishes returns how many wishes are stored.
func (s server) wishes() int64 {
	s.Helper()
	resp, err := s.hand.Get(s.within(), root+"orders/\x00wish", clientv3.WithPrefix(),
		clientv3.WithCountOnly())
	if err != nil {
		s.Fatal(err)
	}
	return resp.Count
}

// TestTake_Many: of many takers of one tag behind a slow network, each gets its range within the
// time that a refill has. On a busy machine that is measured by takers of a tag each.
func TestTake_Many(t *testing.T) {
	t.Parallel()
	const each, delay = 10, 10 * time.Millisecond
	s := start(t)
	s.create(s.store(0), "a")
	proxy := proxytest.Start(t, s.Endpoint)
	var requests atomic.Int64
	count := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, c, opts...)
	})
	var stores []*Store
	for i := range takers {
		st, err := New(etcdtest.Connect(t, []string{proxy.Addr}, count), "orders", Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		s.create(st, fmt.Sprint("own", i))
		stores = append(stores, st)
	}
	proxy.Delay(delay)
	uncontended := takeAll(t, stores, each, time.Minute, func(i int) string {
		return fmt.Sprint("own", i)
	})
	requests.Store(0)
	limit := max(segment.DefaultRefillTimeout, 20*uncontended)
	longest := takeAll(t, stores, each, limit, func(int) string { return "a" })
	t.Logf("%d takes with %d requests; the longest took %v, and %v without contention", takers*each,
		requests.Load(), longest, uncontended)
	if !t.Failed() {
		s.wantTake(s.store(0), "a", 1+10*takers*each)
	}
	streamtest.Eventually(t, "no wish is left", func() bool { return s.wishes() == 0 })
}

// TestTake_ManyOfOneStore: where several calls of a store take ranges of one tag beside other
// programs, each range that the tag is raised by is handed out.
func TestTake_ManyOfOneStore(t *testing.T) {
	t.Parallel()
	const each = 10
	s := start(t)
	s.create(s.store(0), "a")
	proxy := proxytest.Start(t, s.Endpoint)
	var calls []*Store
	for range 2 {
		st, err := New(etcdtest.Connect(t, []string{proxy.Addr}), "orders", Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		calls = append(calls, st, st, st)
	}
	proxy.Delay(3 * time.Millisecond)
	takeAll(t, calls, each, time.Minute, func(int) string { return "a" })
	if !t.Failed() {
		s.wantTake(s.store(0), "a", 1+10*each*int64(len(calls)))
	}
}

// takeAll has each store take some ranges, each within a time, and returns the longest time.
func takeAll(t *testing.T, stores []*Store, each int, within time.Duration, tag func(i int) string,
) (longest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	firsts := map[string]bool{}
	for i, st := range stores {
		running.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(context.Background(), within)
				asked := time.Now()
				r, err := st.Take(ctx, tag(i), 10)
				cancel()
				mu.Lock()
				first := fmt.Sprint(tag(i), " ", r.First)
				if longest = max(longest, time.Since(asked)); err != nil {
					t.Error(err)
				} else if firsts[first] {
					safetytest.Of(t).Errorf("%d of %s was handed out twice", r.First, tag(i))
				}
				firsts[first] = true
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return longest
}

// TestTake_SlowServer: where a refill has the time for one request and not for two, ranges come
// after another program has taken one, or after the tag was crowded.
func TestTake_SlowServer(t *testing.T) {
	t.Parallel()
	for _, crowded := range []bool{false, true} {
		t.Run(fmt.Sprint("crowded=", crowded), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.create(s.store(0), "a")
			proxy := proxytest.Start(t, s.Endpoint)
			st, err := New(etcdtest.Connect(t, []string{proxy.Addr}), "orders", Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			s.wantTake(st, "a", 1)
			if !crowded {
				s.wantTake(s.store(0), "a", 11)
			}
			st.mu.Lock()
			e := st.known["a"]
			e.crowded = crowded
			st.known["a"] = e
			st.mu.Unlock()
			proxy.Delay(segment.DefaultRefillTimeout * 3 / 5)
			for try := 1; ; try++ {
				ctx, cancel := context.WithTimeout(t.Context(), segment.DefaultRefillTimeout)
				_, err := st.Take(ctx, "a", 10)
				cancel()
				if err == nil {
					return
				}
				if try == 5 {
					t.Fatalf("the last of %d takes: %v", try, err)
				}
			}
		})
	}
}

// TestWish_LeaseHasEnded: a take whose lease for wishes has ended makes its wish with another one.
func TestWish_LeaseHasEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	lease, err := st.lease(s.within())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.hand.Revoke(s.within(), lease); err != nil {
		t.Fatal(err)
	}
	st.mu.Lock()
	e := st.known["a"]
	e.crowded = true // so that the next take makes a wish
	st.known["a"] = e
	st.mu.Unlock()
	s.wantTake(st, "a", 1)
	if n := s.wishes(); n != 0 {
		t.Errorf("%d wishes are left", n)
	}
}

// TestWish_Dead: wishes of processes that have ended hold up no call, and vanish.
func TestWish_Dead(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create(s.store(0), "a")
	for range 5 {
		if _, _, err := s.store(0).wish(s.within(), "a", 10); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := s.store(0).Tags(s.within()); err != nil || len(all) != 1 {
		t.Errorf("Tags: %v, %v", all, err)
	}
	for i := range int64(10) {
		ctx, cancel := context.WithTimeout(t.Context(), segment.DefaultRefillTimeout)
		r, err := s.store(0).Take(ctx, "a", 10)
		cancel()
		if first := 1 + 10*i; err != nil || r.First < first || r.First > first+50 {
			safetytest.Unless(t, err).Errorf("Take: %v, %v; want it from %d on", r, err, first)
		}
	}
	streamtest.Eventually(t, "no wish is left", func() bool { return s.wishes() == 0 })
}

// takerEnv has a process take numbers at a URL, one by one, and print each.
const takerEnv = "UNALIKE_TEST_TAKER"

func take(url string) error {
	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	st, err := segment.Open(ctx, url, segment.OpenOptions{Logger: quiet})
	if err != nil {
		return err
	}
	q, err := segment.New(ctx, st, "a", segment.Config{MaxStep: 1, Logger: quiet})
	if err != nil {
		return err
	}
	for {
		if n, err := q.Next(); err == nil {
			fmt.Println(n)
		}
	}
}

// processes take numbers of a tag.
type processes struct {
	server
	mu    sync.Mutex
	count []int
	seen  map[string]bool
}

// start adds some of them, and returns what kills them.
func (k *processes) start(n int) (kill func()) {
	var all []*drivertest.Child
	for range n {
		c := drivertest.StartChild(k, takerEnv+"=etcd://"+k.Endpoint+"/orders")
		all = append(all, c)
		k.mu.Lock()
		i := len(k.count)
		k.count = append(k.count, 0)
		k.mu.Unlock()
		go func() {
			for c.Lines.Scan() {
				k.mu.Lock()
				if number := c.Lines.Text(); k.seen[number] {
					safetytest.Of(k).Errorf("%s was handed out twice", number)
				} else {
					k.seen[number] = true
				}
				k.count[i]++
				k.mu.Unlock()
			}
		}()
	}
	return func() {
		for _, c := range all {
			c.Kill()
		}
	}
}

// wait returns once each of the last n has some numbers more.
func (k *processes) wait(n int) {
	k.Helper()
	k.mu.Lock()
	before := slices.Clone(k.count)
	k.mu.Unlock()
	began := time.Now()
	streamtest.Eventually(k, "each process has numbers again", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		for i := len(before) - n; i < len(before); i++ {
			if k.count[i] < before[i]+3 {
				return false
			}
		}
		return true
	})
	took := time.Since(began)
	k.Logf("each of %d processes had numbers again after %v", n, took)
	if took > 5*time.Second && fulltest.Quiet() {
		k.Error("that is more than 5 s")
	}
}

// TestTake_KilledAndAway: processes that are killed together, and a server that is away, hold up
// nothing afterwards.
func TestTake_KilledAndAway(t *testing.T) {
	fulltest.Long(t, "the server is away for 4 s, and processes are started twice")
	t.Parallel()
	const each = 6
	s := start(t)
	s.create(s.store(0), "a")
	k := &processes{server: s, seen: map[string]bool{}}
	kill := k.start(each)
	k.wait(each)
	kill()
	k.start(each)
	k.wait(each)
	s.Kill()
	time.Sleep(4 * time.Second) // the outage, which is longer than a refill may take
	s.Restart(t)
	k.wait(each)
}

package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20
	etcdtest.Main()
	leaktest.Main(m)
}

func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// store returns a store with a client of its own.
func store(tb testing.TB, s *etcdtest.Server, o *Options) *Store {
	tb.Helper()
	st, err := New(s.Client(tb), "orders", drivertest.Value(o))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

func wantTake(tb testing.TB, s segment.Store, tag string, step, first int64) {
	tb.Helper()
	if r, err := s.Take(within(tb), tag, step); err != nil || r != (segment.Range{First: first, Last: first + step - 1}) {
		tb.Errorf("Take(%q, %d) = %v, %v; want it to begin at %d", tag, step, r, err, first)
	}
}

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s := etcdtest.Start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return store(tb, s, nil) })
}

// TestURL: a store is opened by its URL.
func TestURL(t *testing.T) {
	s := etcdtest.Start(t)
	st, err := segment.Open(within(t), "etcd://"+s.Endpoint+"/orders?failover=skip:1000", segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.(segment.Creator).Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Error(err)
	}
	wantTake(t, store(t, s, nil), "a", 10, 1)
	for _, bad := range []string{"etcd://h", "etcd:///ns", "etcd://h/a\nb", "etcd://h/ns?ttl=5s", "etcd://h/ns?failover=x", "etcd://h/ns?ca=x", "etcd://u@h/ns"} {
		if _, err := segment.Open(within(t), bad, segment.OpenOptions{}); !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestManySequences: many sequences of one store, and of others, share a tag.
func TestManySequences(t *testing.T) {
	s := etcdtest.Start(t)
	first := store(t, s, nil)
	if err := first.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 5}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var running sync.WaitGroup
	for i := range 6 {
		st := first
		if i%2 == 0 {
			st = store(t, s, nil)
		}
		running.Go(func() {
			for range 3 {
				q, err := segment.New(within(t), st, "a", segment.Config{MaxStep: 7})
				if err != nil {
					t.Error(err)
					return
				}
				dst := make([]int64, 23)
				if _, err := q.Fill(within(t), dst); err != nil {
					t.Error(err)
				}
				if err := q.Close(within(t)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, n := range dst {
					if seen[n] {
						t.Errorf("%d was given out twice", n)
					}
					seen[n] = true
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
}

// TestOtherCluster: a tag that was made in another cluster is refused until somebody has advanced it, and with the option its
// numbers are skipped.
func TestOtherCluster(t *testing.T) {
	s := etcdtest.Start(t)
	client := s.Client(t)
	put := func(tag, cluster string) {
		value, err := record{Next: 100, Step: 10, Cluster: cluster}.encode(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(within(t), root+"orders/"+tag, value); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "elsewhere")
	put("b", "elsewhere")
	st := store(t, s, nil)
	if _, err := st.Take(within(t), "a", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take of a tag of another cluster: %v", err)
	}
	if err := store(t, s, nil).Advance(within(t), "a", 500); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 500)
	wantTake(t, store(t, s, &Options{Skip: 5000}), "b", 10, 5100)
	wantTake(t, st, "b", 10, 5110)
}

// TestWentBack: a cluster whose revision is below one that was seen is refused, until a tag is advanced, by somebody else as well.
func TestWentBack(t *testing.T) {
	s := etcdtest.Start(t)
	st := store(t, s, nil)
	if err := st.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 1)
	st.mu.Lock()
	for id := range st.highest {
		st.highest[id] += 1000 // as if it had seen later ones
	}
	st.mu.Unlock()
	for range 3 {
		if r, err := st.Take(within(t), "a", 10); !errors.Is(err, segment.ErrStoreChanged) {
			t.Errorf("Take from a cluster that went back: %v, %v", r, err)
		}
	}
	if err := store(t, s, nil).Advance(within(t), "a", 900); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 900)
}

//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// TestCrowds: many tags, and many callers.
func TestCrowds(t *testing.T) {
	c := etcdtest.StartCluster(t, 1)
	open := func() *Store {
		st, err := New(c.Client(t), "crowds", Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
	a, b := open(), open()
	t.Run("one tag", func(t *testing.T) { numbertest.OneTag(t, a, b, fulltest.Rounds(8, 400)) })
	t.Run("thousand tags", func(t *testing.T) {
		var running sync.WaitGroup
		for i := range 8 {
			running.Go(func() {
				for n := i; n < 1000; n += 8 {
					if err := a.Create(within(t), segment.Tag{Name: fmt.Sprint("n", n), Next: 1, Step: 2}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
		numbertest.ManyTags(t, a, b)
	})
}

// TestRestored: a cluster that is put back to earlier data is noticed by a program that runs, which goes on above all numbers when somebody has advanced the tag.
func TestRestored(t *testing.T) {
	s := etcdtest.Start(t)
	st := store(t, s, nil)
	if err := st.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	q, err := segment.New(within(t), st, "a", segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close(within(t))
	rising := &numbertest.Rising{Sequence: q}
	s.Stop()
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(s.Dir)); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	for rising.Used < 95 {
		if err := rising.Next(t); err != nil && !errors.Is(err, segment.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	streamtest.Eventually(t, "the next segment is there", func() bool { return q.Health().Next.Len() > 0 })
	s.Stop()
	if err := os.RemoveAll(s.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.Dir, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	for err = rising.Refusal(t); errors.Is(err, segment.ErrUnavailable); {
		err = rising.Refusal(t)
	}
	if !errors.Is(err, segment.ErrStoreChanged) && !errors.Is(err, segment.ErrWentBack) {
		t.Fatalf("Next from a cluster that was put back: %v after %d", err, rising.Used)
	}
	above := rising.Used + 1000
	if err := store(t, s, nil).Advance(within(t), "a", above); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "it goes on", func() bool { return rising.Next(t) == nil })
	if rising.Used < above {
		t.Errorf("it goes on with %d; want %d or more", rising.Used, above)
	}
}

// TestRestoredElsewhere: the keys of a snapshot in a new cluster, which is what restoring one makes, are refused until somebody has advanced the tag.
func TestRestoredElsewhere(t *testing.T) {
	s, there := etcdtest.Start(t), etcdtest.Start(t)
	st := store(t, s, nil)
	if err := st.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 1)
	snapshot, err := s.Client(t).Get(within(t), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 10, 11) // the snapshot does not have it
	client := there.Client(t)
	for _, kv := range snapshot.Kvs {
		if _, err := client.Put(within(t), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	moved := store(t, there, nil)
	if r, err := moved.Take(within(t), "a", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take from a snapshot in another cluster: %v, %v", r, err)
	}
	if err := moved.Advance(within(t), "a", 21); err != nil {
		t.Fatal(err)
	}
	wantTake(t, moved, "a", 10, 21)
}

package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20
	leaktest.Main(m)
}

func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// TestSuite holds the store to its interface. All open the same folder; the first runs the server.
func TestSuite(t *testing.T) {
	url := "embed://" + filepath.ToSlash(filepath.Join(t.TempDir(), "ids"))
	open := func(tb testing.TB) segment.Store {
		tb.Helper()
		s, err := segment.Open(within(tb), url, segment.OpenOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = s.Close() })
		return s
	}
	open(t)
	segmenttest.Run(t, open)
}

// TestRestarted: the numbers go on when the server has ended and is started again, and so does a
// program that has joined it.
func TestRestarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ids")
	first, err := New(within(t), dir, "orders", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	joined, err := New(within(t), dir, "orders", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	s, err := segment.New(within(t), joined, "a", segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	top := int64(0)
	for i := range 100 {
		if i == 30 {
			if err := first.Close(); err != nil {
				t.Error(err)
			}
		}
		n, err := s.NextContext(within(t))
		if n <= top || err != nil {
			safetytest.Unless(t, err).Fatalf("after %d: %d, %v", top, n, err)
		}
		top = n
	}
}

// TestURL: what is wrong with a URL is said.
func TestURL(t *testing.T) {
	for _, bad := range []string{
		"embed://host/dir", "embed:///", "embed:///x?ttl=5s",
		"embed:///x?failover=no", "embed:///x?namespace=a%0Ab",
	} {
		if _, err := segment.Open(within(t), bad, segment.OpenOptions{}); !errors.Is(err,
			segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

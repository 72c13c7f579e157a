package embedded

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// callTime is for one call on a machine that is busy with other things.
const callTime = 30 * time.Second

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20 // there are many folders in a run
	childMain()
	os.Exit(m.Run())
}

// newDir returns the path of a folder that does not exist yet.
func newDir(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "etcd of unalike")
}

// open returns a coordinator that is closed with the test.
func openFolder(tb testing.TB, dir, namespace string, o *Options) *Coordinator {
	tb.Helper()
	c, err := New(within(tb), dir, namespace, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return c
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// eventually waits for something that happens by itself.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(callTime); !done(); {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("not within %v: %s", callTime, what)
		}
	}
}

// request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s, in the default layout.
func request(n int) coord.Request {
	l := core.DefaultLayout()
	scale := clock.Scale{Epoch: l.Epoch.UnixMicro(), Unit: l.Unit.Microseconds()}
	now := scale.Tick(time.Now().UnixMicro())
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: l.String(), Scale: scale, LastTick: 1<<41 - 1,
		Workers: coord.Range{Count: n}, Capacity: l.Workers(), TTL: 15 * time.Second,
		Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
	}
}

func mustAcquire(tb testing.TB, c coord.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(within(tb), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// address is where the client of c connects to; empty: nowhere.
func address(c *Coordinator) string {
	if p := c.host.Load(); p != nil {
		return p.Address
	}
	return ""
}

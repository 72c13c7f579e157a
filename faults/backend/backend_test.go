package backend_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// open opens a new namespace of a back end.
func open(t *testing.T, b *backend.Backend) coord.Coordinator {
	t.Helper()
	url := b.URL("namespace="+rand.Text(), "ttl=4s", "horizon=9s", "renew=1s")
	backend.Declare(t, url, core.DefaultLayout().Space())
	c, err := coord.Open(streamtest.Within(t), url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serves checks that a generator of a new namespace gets IDs. Redis quarantines old ones after a
// restart.
func serves(t *testing.T, b *backend.Backend) {
	t.Helper()
	if _, err := streamtest.Generate(t, open(t, b),
		core.Config{}).NextContext(streamtest.Within(t)); err != nil {
		t.Fatal(err)
	}
}

// silent checks that nobody is served.
func silent(t *testing.T, b *backend.Backend) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, err := coord.Open(ctx, b.URL(), coord.OpenOptions{})
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := core.New(ctx, c, core.Config{}); err == nil || coord.Permanent(err) {
		t.Errorf("a start while the servers of %s are away: %v", b.Name, err)
	}
}

// TestBackends: each back end serves, except while its servers are away, and after each fault.
func TestBackends(t *testing.T) {
	fulltest.Long(t, "it starts all servers that there are")
	for _, name := range backend.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // servers mostly wait
			b := backend.Start(t, name)
			if len(b.Servers) == 0 {
				if _, err := coord.Open(streamtest.Within(t), b.URL(), coord.OpenOptions{}); err != nil {
					t.Error(err)
				}
				return
			}
			serves(t, b)
			b.Freeze()
			silent(t, b)
			b.Thaw()
			b.Restart()
			serves(t, b)
			snapshot := b.Snapshot()
			b.Kill()
			silent(t, b)
			b.Restart()
			serves(t, b)
			b.Restore(snapshot)
			serves(t, b)
			for _, loss := range b.Losses {
				if loss.Keep != nil {
					loss.Keep()
					loss.Do()
					serves(t, b)
				}
			}
		})
	}
}

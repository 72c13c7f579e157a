package backend_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// callTime is for one call on a machine that is busy with other things.
const callTime = streamtest.CallTime

// generate starts a generator through the URL of a back end.
func generate(t *testing.T, b backend.Backend, options ...string) *core.Generator {
	t.Helper()
	return streamtest.Generate(t, open(t, b, options...), core.Config{})
}

// open opens the URL of a back end.
func open(t *testing.T, b backend.Backend, options ...string) coord.Coordinator {
	t.Helper()
	c, err := coord.Open(streamtest.Within(t), b.URL(options...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// wantID waits until a generator gives an ID.
func wantID(t *testing.T, g *core.Generator) core.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*callTime)
	defer cancel()
	for {
		id, err := g.NextContext(ctx)
		if err == nil {
			return id
		}
		if ctx.Err() != nil || coord.Permanent(err) {
			t.Fatal(err)
		}
		_ = g.Ready(ctx) // NextContext has the error, if there still is one
	}
}

// renewed waits until the coordinator has extended the generator's window from now on.
func renewed(t *testing.T, g *core.Generator) {
	t.Helper()
	now := time.Now()
	streamtest.Eventually(t, "the window is extended", func() bool {
		for _, w := range g.Health().Workers {
			if w.LastRenewal.After(now) {
				return true
			}
		}
		return false
	})
}

// Every back end serves generators, before and after each fault that all have.
func TestBackends(t *testing.T) {
	for _, name := range backend.Names() {
		t.Run(name, func(t *testing.T) {
			b := backend.Start(t, name)
			if b.Name() != name {
				t.Errorf("the name is %q; want %q", b.Name(), name)
			}
			g := generate(t, b)
			last := wantID(t, g)
			issues := func(after string) {
				t.Helper()
				if len(b.Servers()) > 0 {
					renewed(t, g)
				}
				id := wantID(t, g)
				if id <= last {
					t.Errorf("%s, the ID %d came after %d", after, id, last)
				}
				last = id
			}
			issues("after the start")
			if len(b.Servers()) == 0 {
				return
			}
			b.Freeze(t)
			silent(t, b)
			b.Thaw(t)
			issues("after a freeze")
			b.Kill(t)
			silent(t, b)
			b.Restart(t)
			issues("after a kill")
			b.Stop(t)
			silent(t, b)
			b.Restart(t)
			issues("after a stop")
			backend.Rolling(t, b, nil)
			issues("after a rolling restart")
		})
	}
}

// silent checks that nobody is served.
func silent(t *testing.T, b backend.Backend) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, err := coord.Open(ctx, b.URL())
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := core.New(ctx, c, core.Config{}); err == nil || !errors.Is(err, context.DeadlineExceeded) && coord.Permanent(err) {
		t.Errorf("a start while the servers of %s are away: %v", b.Name(), err)
	}
}

package backend_test

import (
	"context"
	"crypto/rand"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
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
	c, err := coord.Open(streamtest.Within(t), b.URL(options...), coord.OpenOptions{})
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

// lease are the lease times of the suite: an outage of some seconds ends a lease and not
// its window.
var lease = []string{"ttl=4s", "horizon=9s", "renew=1s"}

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

// serves checks that a generator of a new namespace gets IDs. Redis quarantines old ones
// after a restart.
func serves(t *testing.T, b backend.Backend) {
	t.Helper()
	options := append([]string{"namespace=" + rand.Text()}, lease...)
	backend.Declare(t, b, core.DefaultLayout(), options...)
	wantID(t, generate(t, b, options...))
}

// lengthy are back ends that take their time. What is their own is in TestStandby, TestObjects and TestLayered: all else is
// for the full set.
var lengthy = []string{"kubernetes", "mariadb-replica"}

// names are the back ends to test.
func names() []string { return sparing(backend.Names()...) }

// sparing returns back ends without those that are lengthy, outside of the full set.
func sparing(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(lengthy, name) && fulltest.Rounds(0, 1) == 0 })
}

// Every back end serves generators, before and after each fault that all have.
func TestBackends(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // servers mostly wait
			b := backend.Start(t, name)
			if b.Name() != name {
				t.Errorf("the name is %q; want %q", b.Name(), name)
			}
			if len(b.Servers()) == 0 {
				wantID(t, generate(t, b))
				return
			}
			c := open(t, b, lease...)
			g := streamtest.Generate(t, c, core.Config{})
			before := wantID(t, g)
			b.Freeze(t)
			silent(t, b)
			b.Thaw(t)
			renewed(t, g)
			if after := wantID(t, g); after <= before {
				t.Errorf("the ID %d came after %d", after, before)
			}
			if err := g.Close(streamtest.Within(t)); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil { // else the embedded etcd runs here after the kill
				t.Error(err)
			}
			b.Kill(t)
			away(t, b)
			b.Restart(t)
			serves(t, b)
			b.Stop(t)
			away(t, b)
			b.Restart(t)
			serves(t, b)
			backend.Rolling(t, b, func() { serves(t, b) })
		})
	}
}

// away checks that nobody is served, or that another program runs the server.
func away(t *testing.T, b backend.Backend) {
	t.Helper()
	h, ok := b.(backend.Hosted)
	if !ok {
		silent(t, b)
		return
	}
	c, err := coord.Open(streamtest.Within(t), b.URL(), coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pid := h.Host(t); pid != os.Getpid() {
		t.Errorf("process %d runs the server of %s; want this one, %d", pid, b.Name(), os.Getpid())
	}
}

// silent checks that nobody is served.
func silent(t *testing.T, b backend.Backend) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, err := coord.Open(ctx, b.URL(), coord.OpenOptions{})
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := core.New(ctx, c, core.Config{}); err == nil || coord.Permanent(err) {
		t.Errorf("a start while the servers of %s are away: %v", b.Name(), err)
	}
}

package embedded

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
)

// TestCompact: what is past is forgotten by a start, however short the program's runs
// are.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := openFolder(t, dir, "n", nil)
	var writers sync.WaitGroup
	for range 32 {
		writers.Go(func() {
			for range 3 * keepRevisions / 32 {
				if _, err := c.client.Put(within(t), "key", "value"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openFolder(t, dir, "n", nil)
	kv := c.server.etcd.Server.KV()
	if kept := kv.Rev() - kv.FirstRev(); kept > keepRevisions {
		t.Errorf("%d revisions are kept; want %d at the most", kept, keepRevisions)
	}
}

// TestNothingIsLeft: a coordinator leaves no goroutines behind, whether it ran the
// server or joined it.
func TestNothingIsLeft(t *testing.T) {
	dir := newDir(t)
	begin := func() (close func()) {
		host, joined := openFolder(t, dir, "n", nil), openFolder(t, dir, "n", nil)
		g := mustAcquire(t, joined, request(1))
		joined.Lost(g)
		if err := joined.Release(within(t), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(host.Close(), joined.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	begin()() // libraries start what runs for ever
	before := runtime.NumGoroutine()
	for range 5 {
		begin()()
	}
	eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// TestTrap: what ends a process otherwise ends a goroutine.
func TestTrap(t *testing.T) {
	for _, log := range []func(*zap.Logger){
		func(l *zap.Logger) { l.Fatal("disk on fire", zap.Error(errors.New("smoke")), zap.String("disk", "a")) },
		func(l *zap.Logger) { l.Panic("disk on fire", zap.Error(errors.New("smoke"))) },
	} {
		trap := newTrap()
		err := trap.guarded(func() {
			trap.logger().Error("of no consequence")
			log(trap.logger())
			t.Error("went on")
		})
		if err == nil || err.Error() != "etcd cannot go on: disk on fire: smoke" {
			t.Errorf("error is %v", err)
		}
		select {
		case <-trap.sprung:
		default:
			t.Error("the trap is not sprung")
		}
	}
	if err := newTrap().guarded(func() {}); err != nil {
		t.Error(err)
	}
}

// TestClosed: calls after Close say so.
func TestClosed(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := openFolder(t, dir, "n", nil)
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := c.Acquire(within(t), request(1))
	if err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ended, newDir(t), "n", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

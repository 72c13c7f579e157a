package embedded

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// TestCompact: what is past is forgotten by a start, however short the program's runs
// are.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := openFolder(t, dir, "n")
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
	c = openFolder(t, dir, "n")
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
		host, joined := openFolder(t, dir, "n"), openFolder(t, dir, "n")
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
	eventually(t, "the goroutines have ended", func() bool {
		return runtime.NumGoroutine() <= before+2
	})
}

// TestListenerFails: a server that nobody can connect to any more gives the folder up,
// and it is served again.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := openFolder(t, dir, "n")
	joined := openFolder(t, dir, "n")
	g := mustAcquire(t, joined, request(1))
	s := host.server
	old := address(host)
	if err := s.etcd.Clients[0].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the folder is served again", func() bool {
		a := address(host)
		return a != "" && a != old && a == address(joined)
	})
	if r, err := joined.Renew(within(t), g, g.NotAfter+1000); err != nil ||
		r.Generation != g.Generation || r.NotBefore != g.NotBefore {
		t.Errorf("renewed to %v, %v; want more of %v", r, err, g)
	}
}

// TestTrap: what ends a process otherwise ends a goroutine.
func TestTrap(t *testing.T) {
	for _, log := range []func(*zap.Logger){
		func(l *zap.Logger) {
			l.Fatal("disk on fire", zap.Error(errors.New("smoke")),
				zap.String("disk", "a"))
		},
		func(l *zap.Logger) { l.Panic("disk on fire", zap.Error(errors.New("smoke"))) },
	} {
		fatal := newFatalHook()
		err := fatal.guarded(func() {
			fatal.logger().Error("of no consequence")
			log(fatal.logger())
			t.Error("went on")
		})
		if err == nil || err.Error() != "etcd cannot go on: disk on fire: smoke" {
			t.Errorf("error is %v", err)
		}
		select {
		case <-fatal.sprung:
		default:
			t.Error("the trap is not sprung")
		}
	}
	if err := newFatalHook().guarded(func() {}); err != nil {
		t.Error(err)
	}
}

// TestGuarded: who does not know the folder's name gets nothing that is stored.
func TestGuarded(t *testing.T) {
	t.Parallel()
	c := openFolder(t, newDir(t), "n")
	mustAcquire(t, c, request(1))
	stranger, err := clientv3.New(clientv3.Config{
		Endpoints: []string{address(c)},
		Logger:    zap.NewNop(), MaxUnaryRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	short := func() context.Context { // the client tries again and again
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if resp, err := stranger.Get(short(), "/unalike", clientv3.WithPrefix()); err == nil {
		t.Errorf("a stranger read %v", resp)
	}
	if _, err := stranger.Put(short(), "/unalike/n/ticket", "x"); err == nil {
		t.Error("a stranger wrote")
	}
	if snapshot, err := stranger.Snapshot(short()); err == nil {
		if n, err := io.Copy(io.Discard, snapshot); err == nil {
			t.Errorf("a stranger has a copy of %d bytes", n)
		}
	}
}

package local

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// left starts a process, lets it issue and be killed, and returns what it had.
func (r *rig) left() coord.Grant {
	r.Helper()
	p := r.start()
	g := p.acquire(4)
	p.known()
	g = p.renew(g)
	p.kill()
	return g
}

// refused starts a process while the back end is away, which must get nothing.
func (r *rig) refused(why string) {
	r.Helper()
	r.away.Store(true)
	p := r.start()
	if g, err := p.Acquire(r.ctx(), r.request(4)); !errors.Is(err, errAway) {
		r.Fatalf("%s: %v, %v; want the back end's error", why, g, err)
	}
	p.kill()
	r.away.Store(false)
}

// TestIdentity: without the back end, nothing of another namespace, layout or share is used.
func TestIdentity(t *testing.T) {
	for why, change := range map[string]func(*rig, *coord.Request){
		"another place":  func(r *rig, _ *coord.Request) { r.place = "elsewhere" },
		"no place":       func(r *rig, _ *coord.Request) { r.place = "" },
		"another layout": func(_ *rig, q *coord.Request) { q.Fingerprint = "40/10/13/1ms/2024-01-01T00:00:00Z" },
		"another share":  func(_ *rig, q *coord.Request) { q.Workers = coord.Range{First: 100, Count: 4} },
		"shorter layout": func(_ *rig, q *coord.Request) { q.LastTick = q.Now + 10 },
	} {
		t.Run(why, func(t *testing.T) {
			r := newRig(t)
			r.left()
			r.away.Store(true)
			req := r.request(4)
			change(r, &req)
			if g, err := r.start().Acquire(r.ctx(), req); !errors.Is(err, errAway) {
				t.Errorf("%v, %v; want the back end's error", g, err)
			}
		})
	}
}

// TestAnotherPlaceSameNamespace: the back end says that it is the same.
func TestAnotherPlaceSameNamespace(t *testing.T) {
	r := newRig(t)
	g := r.left()
	r.place = "another name of the host"
	if h := r.start().acquire(4); h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Errorf("%v was left, and the next start has %v", g, h)
	}
}

// TestNamespaceMadeAnew: the windows of the old one must be over.
func TestNamespaceMadeAnew(t *testing.T) {
	r := newRig(t)
	g := r.left()
	r.server.Delete()
	if err := memory(t, r.server).Init(t.Context(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024}); err != nil {
		t.Fatal(err)
	}
	p := r.start()
	_, err := p.Acquire(r.ctx(), r.request(4))
	if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "delete the file when the windows in it are over") {
		t.Fatalf("with the windows of the old namespace: %v", err)
	}
	p.kill()
	req := r.request(4)
	req.Now, req.Until = g.NotAfter+2*horizon, g.NotAfter+3*horizon
	if h, err := r.start().Acquire(r.ctx(), req); err != nil || h.Generation != 1 {
		t.Fatalf("when they are over: %v, %v", h, err)
	}
}

// TestInUse: a second process waits, and is told for whom.
func TestInUse(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	_, err := r.start().Acquire(r.ctx(), r.request(4))
	if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "it is in use by this process, ") || !strings.Contains(err.Error(), "it is waited for: give each generator a file of its own") {
		t.Fatalf("a second process: %v", err)
	}
	p.renew(g)
}

// TestNetworkFileSystem is refused.
func TestNetworkFileSystem(t *testing.T) {
	r := newRig(t)
	r.sys = func(s *system) { s.network = func(*os.File) (string, error) { return "NFS", nil } }
	_, err := r.start().Acquire(r.ctx(), r.request(4))
	for _, says := range []string{"is on a network file system, NFS", "is on a network file system, ", "name a file on a disk of this machine"} {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("on NFS: %v; want %q", err, says)
		}
	}
}

// TestStripesAtOnce: those who want to store at the same time wait for one another.
func TestStripesAtOnce(t *testing.T) {
	r := newRig(t)
	var writing atomic.Int32
	var twice atomic.Bool
	r.sys = func(s *system) {
		write := s.write
		s.write = func(f *os.File, b []byte, at int64) error {
			if writing.Add(1) > 1 {
				twice.Store(true)
			}
			defer writing.Add(-1)
			runtime.Gosched()
			return write(f, b, at)
		}
	}
	p := r.start()
	p.acquire(64)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				if _, err := p.Acquire(r.Context(), r.request(64)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if twice.Load() {
		t.Error("two records are written at once")
	}
}

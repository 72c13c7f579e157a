package local

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestBadOptions: what New and a URL refuse.
func TestBadOptions(t *testing.T) {
	r := newRig(t)
	inner := &link{Coordinator: memory(t, r.server)}
	open := func(url, state string) (coord.Coordinator, error) {
		u, err := driver.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		u.State = state
		return Opener(func(context.Context, *driver.URL) (coord.Coordinator, error) { return inner, nil })(t.Context(), u)
	}
	made := func(c coord.Coordinator, file string, window time.Duration) error {
		_, err := New(c, file, Options{Window: window})
		return err
	}
	_, empty := open("memory://h?state=", "")
	_, two := open("memory://h?state=/a", "/b")
	for says, err := range map[string]error{
		"the name of the state file is empty":                                 made(inner, "", 0),
		"Window is 1ms; 300ms to 1m0s":                                        made(inner, "f", time.Millisecond),
		"Window is 1h0m0s; 300ms to 1m0s":                                     made(inner, "f", time.Hour),
		"has no state file: its grants cannot":                                made(coordtest.NewFake(coordtest.FakeConfig{}).Client(), "f", 0),
		"has no state file: its grants cannot ":                               made(nil, "f", 0),
		"option state is empty; name a file, or leave the option out":         empty,
		`is "/a", and State is "/b"; name the file in one place, or the same`: two,
	} {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	p := r.start()
	for _, cfg := range []coord.LeaseConfig{{TTL: time.Second}, {Horizon: 2 * time.Second}, {RenewEvery: 4 * time.Second}} { // shorter than the window
		if _, err := driver.ResolveLease(p.Describe().Rules, cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	var none Coordinator
	_, err := none.Acquire(t.Context(), r.request(1))
	if _, failed := none.Inspect(t.Context()); !errors.Is(failed, errNotMade) || !errors.Is(err, errNotMade) || none.Lost(coord.Grant{}) != nil {
		t.Errorf("%v, %v", failed, err)
	}
}

// TestBadPath: files that cannot be, found out by the first Acquire, which does not ask again.
func TestBadPath(t *testing.T) {
	r := newRig(t)
	plain := filepath.Join(r.dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		filepath.Join(r.dir, "none", "state"): "its folder does not exist; create it",
		filepath.Join(plain, "state"):         "its folder does not exist; create it",
		r.dir:                                 "is not a regular file but d",
	} {
		p := r.start()
		p.path = path
		if _, err := p.Acquire(r.ctx(), r.request(4)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", path, err, says)
		}
	}
}

// TestNetworkFileSystem is refused.
func TestNetworkFileSystem(t *testing.T) {
	r := newRig(t)
	r.sys = func(s *system) { s.network = func(*os.File) (string, error) { return "NFS", nil } }
	_, err := r.start().Acquire(r.ctx(), r.request(4))
	for _, says := range []string{"is on a network file system, NFS", "is on a network file system", "name a file on a disk of this machine"} {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("on NFS: %v; want %q", err, says)
		}
	}
}

// TestCloseBeside: Close beside everything else, before any call to the back end or any step of the
// disk. Nothing hangs, and the file is free afterwards.
func TestCloseBeside(t *testing.T) {
	r := newRig(t)
	for range 30 {
		var left atomic.Int64
		left.Store(rand.Int64N(120) + 1)
		come := make(chan struct{})
		count := func() {
			if left.Add(-1) == 0 {
				close(come)
			}
		}
		r.sys = func(s *system) {
			sync := s.sync
			s.sync = func(f *os.File) error { count(); return sync(f) }
		}
		r.trouble = func(string, func(*protocol.Coordinator)) error {
			count()
			if rand.IntN(8) == 0 {
				return errAway
			}
			return nil
		}
		p := r.start()
		var work sync.WaitGroup
		for range 4 {
			work.Go(func() {
				for p.life.Context().Err() == nil {
					p.lives(t.Context())
				}
			})
		}
		<-come
		p.kill()
		work.Wait()
	}
}

// lives acquires, renews, and gives back or does not.
func (p *process) lives(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(50))*time.Millisecond)
	defer cancel()
	g, err := p.Acquire(ctx, p.request(16))
	for range 5 {
		if err == nil {
			var next coord.Grant
			if next, err = p.Renew(ctx, g, tickNow()+horizon+int64(rand.IntN(9000))); err == nil {
				g = next
			}
			p.Lost(g)
			p.Outage(g)
		}
	}
	if rand.IntN(2) == 0 {
		_ = p.Release(ctx, g, g.NotBefore)
	}
}

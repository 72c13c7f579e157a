package local

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// disk is one that can hang, or fail.
type disk struct {
	mu   sync.Mutex
	hang chan struct{} // closed when it goes on; nil: it does not hang
	err  error
}

func (d *disk) seam(s *system) {
	s.sync = func(f *os.File) error {
		d.mu.Lock()
		hang, err := d.hang, d.err
		d.mu.Unlock()
		if hang != nil {
			<-hang
		}
		if err != nil {
			return err
		}
		return f.Sync()
	}
}

func (d *disk) set(hang chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hang, d.err = hang, err
}

// untilLost renews until the worker ID is lost, and returns why.
func (p *process) untilLost(g coord.Grant) (err error) {
	p.Helper()
	p.eventually("the worker ID is given up", func() bool {
		ctx, cancel := context.WithTimeout(p.ctx(), 200*time.Millisecond)
		defer cancel()
		var r coord.Grant
		if r, err = p.Renew(ctx, g, tickNow()+horizon); err == nil && r.NotAfter > g.NotAfter {
			p.Fatalf("%v was extended to %v, and is not stored", g, r)
		}
		return errors.Is(err, coord.ErrLeaseLost)
	})
	return err
}

// TestDiskHangs: nothing is granted that is not stored; another worker ID serves, which the
// file does not name; the file's is neither extended nor trimmed, and the next start has it.
func TestDiskHangs(t *testing.T) {
	for name, how := range map[string]func(*disk) (over func()){
		"it hangs": func(d *disk) func() {
			hang := make(chan struct{})
			d.set(hang, nil)
			return func() { d.set(nil, nil); close(hang) }
		},
		"it fails": func(d *disk) func() {
			d.set(nil, errors.New("input/output error"))
			return func() { d.set(nil, nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, d := newRig(t), &disk{}
			r.sys = d.seam
			p := r.start()
			g := p.acquire(4)
			p.known()
			g = p.renew(g)
			over := how(d)
			err := p.untilLost(g)
			if !strings.Contains(err.Error(), "state file") {
				t.Errorf("the error does not name the file: %v", err)
			}
			stored := r.server.Slots()[g.WorkerID]
			h := p.acquire(4)
			if h.WorkerID == g.WorkerID || h.NotAfter < tickNow()+horizon/2 {
				t.Errorf("%v was given up, and then granted was %v", g, h)
			}
			h = p.renew(h)
			if err := p.Release(r.ctx(), h, h.NotBefore); err != nil {
				t.Error(err)
			}
			if now := r.server.Slots()[g.WorkerID]; now.NotAfter < stored.NotAfter || now.Token != stored.Token {
				t.Errorf("what was stored for the file's grant is %+v now, and was %+v", now, stored)
			}
			if p.link.released.Load() != 1 {
				t.Errorf("%d releases were sent", p.link.released.Load())
			}
			over()
			p.kill()
			if again := r.start().acquire(4); again.WorkerID != g.WorkerID || again.NotBefore < g.NotAfter {
				t.Errorf("the next start has %v after %v", again, g)
			}
		})
	}
}

// TestDiskHangsWhileAway: then there is no other worker ID, and the disk is waited for.
func TestDiskHangsWhileAway(t *testing.T) {
	t.Parallel()
	r, d := newRig(t), &disk{}
	r.sys = d.seam
	r.left()
	r.away.Store(true)
	p := r.start()
	g := p.acquire(4)
	hang := make(chan struct{})
	d.set(hang, nil)
	began := time.Now()
	r.eventually("the mark is passed", func() bool {
		ctx, cancel := context.WithTimeout(r.ctx(), 200*time.Millisecond)
		defer cancel()
		h, err := p.Renew(ctx, g, tickNow()+horizon)
		if err == nil && h.NotAfter == g.NotAfter {
			return false // enough is left of what is stored
		}
		if err == nil || errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), "state file") {
			t.Fatalf("while the disk hangs: %v", err)
		}
		return time.Since(began) > DefaultWindow+time.Second
	})
	d.set(nil, nil)
	close(hang)
	if h := p.renew(g); h.NotAfter < tickNow() {
		t.Errorf("when the disk answers: %v after %v", h, g)
	}
}

// TestOneSaveAtATime: the disk gets no record before it has answered for the one before, and
// stripes share them.
func TestOneSaveAtATime(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	writing, saves := 0, 0
	r.sys = func(s *system) {
		write, sync := s.write, s.sync
		s.write = func(f *os.File, b []byte, at int64) error {
			mu.Lock()
			writing++
			saves++
			if writing > 1 {
				t.Error("two records are written at once")
			}
			mu.Unlock()
			return write(f, b, at)
		}
		s.sync = func(f *os.File) error {
			err := sync(f)
			mu.Lock()
			writing--
			mu.Unlock()
			return err
		}
	}
	p := r.start()
	var grants []coord.Grant
	for range 8 {
		grants = append(grants, p.acquire(16))
	}
	p.known()
	before, calls := saves, p.link.calls.Load()
	began := time.Now()
	for time.Since(began) < 1500*time.Millisecond {
		for i := range grants {
			grants[i] = p.renew(grants[i])
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if n := saves - before; n > 4 || n < 1 {
		t.Errorf("8 stripes have written the file %d times in 1.5 s", n)
	}
	if n := p.link.calls.Load() - calls; n != 0 {
		t.Errorf("the back end was asked %d times in 1.5 s", n)
	}
}

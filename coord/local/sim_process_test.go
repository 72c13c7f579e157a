//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/statefile"
)

// proc is one process.
type proc struct {
	*world
	name          string
	c             coord.Coordinator
	offset        time.Duration // of its clock
	stamped       time.Time     // when it has stamped last
	dead, stopped atomic.Bool   // it is to end at once, or in order
}

var errDead = errors.New("the process is dead")

// start makes the coordinator; nil: without a file.
func (p *proc) start(file string) (c *coordinator) {
	l := &link{Coordinator: memoryCoordinator(p.TB, p.server), place: "memory"}
	l.before, l.after = p.request, p.answer
	if p.c = l; file == "" {
		return nil
	}
	logger := slog.New(journal{slog.DiscardHandler, p})
	c, err := build(l, filepath.Join(p.dir, file), Options{Window: time.Second, Logger: logger},
		p.system())
	if err != nil {
		p.Fatal(err)
	}
	p.c = c
	return c
}

// live acquires, stamps, renews and gives back, until the process ends.
func (p *proc) live(ctx context.Context) {
	var g coord.Grant
	var last int64
	req := p.wish()
	for held := false; !p.dead.Load() && ctx.Err() == nil; time.Sleep(p.upTo(200 * time.Millisecond)) {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond+p.upTo(4*time.Second))
		switch n := p.random.IntN(60); {
		case !held && p.stopped.Load():
			p.dead.Store(true)
		case !held:
			if n%3 == 0 {
				req = p.wish() // else it asks once more with the same token
			}
			h, err := p.c.Acquire(ctx, req)
			if p.say("acquired", "%s: %v, %v", p.name, h, err); err == nil {
				g, last, held, req = h, h.NotBefore, true, p.wish()
			}
		case n == 0 || p.stopped.Load():
			held = false
			for range 1 + n%3 {
				err := p.c.Release(ctx, g, last)
				p.say("released", "%s: %v, last %d: %v", p.name, g, last, err)
				if err == nil || errors.Is(err, coord.ErrLeaseLost) {
					break
				}
			}
		case n < 30 && last < g.NotAfter:
			to := g.NotAfter
			if n > 10 {
				to = last + 1 + p.random.Int64N(to-last)
			}
			p.stamp(p, g, last, to)
			last = to
		default:
			h, err := p.c.Renew(ctx, g, p.wish().Until)
			p.say("renewed", "%s: %v for %v, %v", p.name, h, g, err)
			if held = !errors.Is(err, coord.ErrLeaseLost); err != nil {
				break
			}
			if h.NotBefore > last && h.NotBefore >= g.NotAfter {
				p.say("piece", "%s: %v", p.name, h)
				p.stamp(p, g, last, g.NotAfter)
				last = h.NotBefore
			}
			g = h
		}
		cancel()
	}
}

func (p *proc) wish() coord.Request {
	req := p.rig.request(workers)
	req.Now = scale.Tick(time.Now().Add(p.offset).UnixMicro())
	req.Holder, req.TTL, req.Until, req.OpenBy = p.name, 4*time.Second, req.Now+8000, req.Now+2000
	return req
}

// request is what may happen to a request. What comes late comes from nobody: by then the process
// may be dead.
func (p *proc) request(ctx context.Context, op string, ghost func(*protocol.Coordinator)) error {
	n := p.fate(ctx, p.away.Load())
	if n == 1 || n == 2 {
		go func() {
			time.Sleep(p.upTo(20 * time.Second))
			ghost(p.wire)
			p.say("late", "%s: %s", p.name, op)
		}()
	}
	return p.lost(ctx, n)
}

// answer is what may happen to an answer.
func (p *proc) answer(ctx context.Context, _ string, _ func(*protocol.Coordinator)) error {
	return p.lost(ctx, p.fate(ctx, p.away.Load()))
}

// fate decides after a while; the smaller the worse.
func (p *proc) fate(ctx context.Context, trouble bool) int {
	select {
	case <-time.After(p.upTo(200 * time.Millisecond)):
	case <-ctx.Done():
	}
	if p.calm.Load() {
		return 90
	}
	if n := p.random.IntN(90); !trouble || n > 80 {
		return n
	}
	return p.random.IntN(3)
}

// lost is what a caller learns.
func (p *proc) lost(ctx context.Context, n int) error {
	switch {
	case n == 5:
		p.dead.Store(true)
	case n == 0:
		return errAway
	case n == 1 || n == 3:
		<-ctx.Done()
	}
	if p.dead.Load() {
		return errDead
	}
	return context.Cause(ctx)
}

// system is the machine, as a process sees it.
func (p *proc) system() *statefile.System {
	s := statefile.Host()
	stamp := s.Stamp
	p.mu.Lock()
	boot := fmt.Sprint("boot ", p.boot)
	p.mu.Unlock()
	s.Home = func() statefile.Home { return statefile.Home{Machine: "machine", Boot: boot} }
	s.Network = func(*os.File) (string, error) { return "", nil }
	s.Stamp = func(f *os.File) (filesys.Stamp, bool, error) {
		st, ok, err := stamp(f)
		p.mu.Lock()
		defer p.mu.Unlock()
		st.Changed = p.changed[filepath.Base(f.Name())]
		return st, ok, err
	}
	s.Write = p.write
	s.Sync = func(*os.File) error { _, err := p.disk(); return err }
	return s
}

// write writes, a part of it if the process dies then.
func (p *proc) write(f *os.File, b []byte, at int64) (int, error) {
	n, err := p.disk()
	if err != nil {
		return 0, err
	}
	whole := len(b)
	if n == 3 {
		b = b[:p.random.IntN(len(b))]
	}
	if n == 3 || n == 4 {
		p.say("torn", "%s: %d of %d bytes", p.name, len(b), whole)
		p.dead.Store(true)
		err = errDead
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed[filepath.Base(f.Name())] = time.Now()
	_, failed := f.WriteAt(b, at)
	return len(b), errors.Join(err, failed)
}

// disk is a step of the disk.
func (p *proc) disk() (fate int, err error) {
	trouble := p.broken.Load()
	if trouble && p.random.IntN(2) == 0 {
		trouble = false
	}
	switch fate = p.fate(p.Context(), trouble); fate {
	case 0:
		return fate, syscall.ENOSPC
	case 1:
		p.say("hangs", "%s", p.name)
		time.Sleep(p.upTo(9 * time.Second))
	}
	if p.dead.Load() && p.random.IntN(2) == 0 {
		return fate, errDead // else what hangs is done in the end
	}
	return fate, nil
}

// backup is what a file was.
type backup struct {
	content []byte
	changed time.Time
}

// tamper does something to a file that no process has.
func (w *world) tamper(file string) {
	path := filepath.Join(w.dir, file)
	put := func(what string, b backup) {
		w.told(what, "%s", file)
		if err := os.WriteFile(path, b.content, 0o600); err != nil {
			w.Error(err)
		}
		w.changed[file] = b.changed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return
	}
	kept, ok := w.kept[file]
	switch n := w.random.IntN(12); {
	case n < 4 || !ok:
		w.kept[file] = backup{content, w.changed[file]}
	case n == 4: // the machine is started again, with a file of before
		w.boot++
		for p := range w.procs {
			p.dead.Store(true)
		}
		put("reboot", kept)
	case n < 8: // a copy of before; if it is that new, nobody can tell
		if time.Since(kept.changed) > 510*time.Millisecond {
			put("back", backup{kept.content, time.Now()})
		}
	case n < 11: // one of its records, if it is there, cannot be read any more
		at := min(w.random.IntN(2)*(64<<10)+100, len(content)-1)
		if content[at] != '\n' {
			content[at] ^= 1
			put("damaged", backup{content, w.changed[file]})
		}
	default:
		w.told("deleted", "%s", file)
		_ = os.Remove(path)
	}
}

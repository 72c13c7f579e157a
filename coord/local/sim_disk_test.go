//go:build unix

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/statefile"
)

// crash ends a process where it is. The caller holds mu.
func (w *world) crash(p *proc) {
	if p.dead {
		return
	}
	p.dead = true
	w.told("%v crashes", p)
	for _, q := range w.parked {
		if q.p == p {
			f := dies
			if q.what == "write" && !q.hung.IsZero() && w.rng.IntN(2) == 0 {
				f = after // what hangs is done in the end
			}
			q.fate <- f
		}
	}
	w.parked = slices.DeleteFunc(w.parked, func(q *parcel) bool { return q.p == p })
	close(p.over)
}

// system is the machine, as a process sees it.
func (p *proc) system() system {
	w := p.w
	s := realSystem()
	w.mu.Lock()
	boot := fmt.Sprint("boot ", w.boot)
	w.mu.Unlock()
	s.home = func() statefile.Home { return statefile.Home{Machine: "machine", Boot: boot} }
	s.network = func(*os.File) (string, error) { return "", nil }
	s.now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Now().Add(w.step)
	}
	s.stamp = func(f *os.File) (filesys.Stamp, bool, error) {
		info, err := f.Stat()
		if err != nil {
			return filesys.Stamp{}, false, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		st := info.Sys().(*syscall.Stat_t)
		return filesys.Stamp{Device: 1, Inode: st.Ino, Links: uint64(st.Nlink), Changed: w.change[st.Ino]}, true, nil
	}
	s.write = p.write
	s.sync = func(*os.File) error { return p.disk("sync", func(bool) error { return nil }) }
	return s
}

func (p *proc) write(f *os.File, b []byte, at int64) (int, error) {
	return len(b), p.disk("write", func(whole bool) error {
		if !whole {
			b = b[:p.w.rng.IntN(len(b))]
		}
		_, err := f.WriteAt(b, at)
		if info, err := f.Stat(); err == nil {
			p.w.change[info.Sys().(*syscall.Stat_t).Ino] = time.Now().Add(p.w.step)
		}
		return err
	})
}

var errDead = errors.New("the process is dead")

// disk is a step of the disk.
func (p *proc) disk(what string, do func(whole bool) error) error {
	w := p.w
	var until time.Time
	for {
		f := w.park(context.Background(), p, what, true, until)
		w.mu.Lock()
		switch f {
		case hangs:
			w.count["hangs"]++
			until = time.Now().Add(time.Duration(w.rng.Int64N(int64(cmp.Or(w.drags, 9*time.Second)))))
			w.mu.Unlock()
			continue
		case refused:
			w.mu.Unlock()
			return syscall.ENOSPC
		case dies:
			w.mu.Unlock()
			return errDead
		}
		defer w.mu.Unlock()
		err := do(f != torn)
		if f == torn || f == after {
			return errDead
		}
		return err
	}
}

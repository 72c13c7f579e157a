//go:build unix

package local

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// backup is what a file was.
type backup struct {
	content []byte
	changed time.Time
}

// mishap is something that no process does. The caller holds mu.
func (w *world) mishap() {
	u := w.units[w.rng.IntN(len(w.units))]
	switch w.rng.IntN(14) {
	case 0, 1:
		if u.p != nil {
			w.crash(u.p)
		}
	case 2, 3:
		if u.p != nil && !u.p.dead && !u.p.stopped {
			u.p.stopped = true
			w.told("%v is to stop", u.p)
		}
	case 4, 5, 6:
		w.away = !w.away
		w.told("away: %t", w.away)
	case 7, 11:
		w.slow = !w.slow
		w.told("the disk hangs, or is full: %t", w.slow)
	case 8:
		id := w.rng.IntN(workers)
		w.told("the lease of worker ID %d ends", id)
		w.server.Expire(id)
	case 9:
		until := time.Now().Add(time.Duration(w.rng.IntN(14_000)) * time.Millisecond)
		if w.rng.IntN(2) == 0 {
			go w.raise(until)
		}
	case 10:
		if w.rng.IntN(3) == 0 {
			w.step = time.Duration(w.rng.IntN(20_000)-10_000) * time.Millisecond
			w.told("the system's clock is %v ahead", w.step)
		}
	default:
		w.tamper(u, w.rng)
	}
}

// raise raises the floor, because of windows that were forgotten: their holders may have
// stamped what is below it and nobody's.
func (w *world) raise(until time.Time) {
	floor, err := w.wire[w.server].Quarantine(context.Background(), until)
	if err != nil {
		return
	}
	end := scale.Tick(floor.UnixMicro()) - 1
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told("floor %d", end)
	for _, s := range w.server.Slots() {
		if s.NotAfter < end && s.NotBefore < end {
			at := place{w.server, s.Worker}
			w.spans[at] = append(w.spans[at], span{s.NotAfter, end, "somebody who was forgotten"})
		}
	}
}

// tamper does something to a file. The caller holds mu.
func (w *world) tamper(u *unit, rng *rand.Rand) {
	if u.file == "" {
		return
	}
	path := filepath.Join(w.dir, u.file)
	kept, ok := w.kept[u.file]
	switch rng.IntN(15) {
	case 0, 1, 2: // it is kept
		if b, err := os.ReadFile(path); err == nil {
			w.kept[u.file] = backup{b, w.change[inode(path)]}
		}
	case 3: // the machine is started again, perhaps with a file of before
		w.told("reboot")
		w.count["reboots"]++
		for _, u := range w.units {
			if u.p != nil {
				w.crash(u.p)
			}
		}
		w.boot++
		if ok && w.idle(u.file) {
			w.told("%s goes back with the reboot", u.file)
			w.put(path, kept.content, kept.changed)
		}
	case 4, 5, 12, 13, 14: // a copy of before is put back
		// Unless the clock was set to when it was kept: then nobody can tell.
		apart := time.Now().Add(w.step).Sub(kept.changed).Abs()
		if ok && w.idle(u.file) && apart > 510*time.Millisecond {
			w.told("%s goes back", u.file)
			w.put(path, kept.content, time.Now().Add(w.step))
		}
	case 6, 7: // a copy of another one takes its place
		from := files[rng.IntN(len(files))]
		if b, err := os.ReadFile(filepath.Join(w.dir, from)); err == nil && from != u.file && w.idle(u.file) {
			w.told("%s is a copy of %s", u.file, from)
			w.put(path, b, time.Now().Add(w.step))
		}
	case 8, 9, 10: // a part of it cannot be read any more
		if b, err := os.ReadFile(path); err == nil && w.idle(u.file) && len(b) > 0 {
			at := rng.IntN(2)*recordSize + 100
			b[min(at, len(b)-1)] ^= 1
			w.told("%s is damaged at %d", u.file, at)
			w.put(path, b, w.change[inode(path)])
		}
	case 11:
		if w.idle(u.file) && rng.IntN(3) == 0 {
			w.told("%s is deleted", u.file)
			_ = os.Remove(path)
		}
	}
}

// idle reports whether no process has a file open, or is about to. The caller holds mu.
func (w *world) idle(file string) bool {
	for _, u := range w.units {
		if u.file == file && u.p != nil && !u.p.closed {
			return false
		}
	}
	return true
}

// put writes a file in place.
func (w *world) put(path string, content []byte, changed time.Time) {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		w.tb.Error(err)
	}
	w.change[inode(path)] = changed
	w.count["tampered"]++
}

func inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

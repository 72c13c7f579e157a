package local

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
)

// TestCopiesAreNotUsed: neither gone on with, nor resumed, nor given back.
func TestCopiesAreNotUsed(t *testing.T) {
	for why, change := range map[string]func(*system){
		"another machine": func(s *system) { s.machine = func() string { return "other" } },
		"another boot":    func(s *system) { s.boot = func() string { return "other" } },
		"no boot ID":      func(s *system) { s.boot = func() string { return "" } },
		"another device":  stamped(func(s *filesys.Stamp) { s.Device++ }),
		"another inode":   stamped(func(s *filesys.Stamp) { s.Inode++ }),
		"changed later":   stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(tolerance + time.Second) }),
		"changed before":  stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(-tolerance - time.Second) }),
		"a second name":   stamped(func(s *filesys.Stamp) { s.Links = 2 }),
	} {
		t.Run(why, func(t *testing.T) {
			r := newRig(t)
			g := r.left()
			r.sys = change
			if why == "a second name" { // such a file cannot be written either
				if h, err := r.start().Acquire(r.ctx(), r.request(4)); err == nil {
					t.Errorf("%v was gone on with: %v", g, h)
				}
				return
			}
			r.refused(why)
			p := r.start()
			if h := p.acquire(4); h.WorkerID == g.WorkerID {
				t.Errorf("%v was gone on with: %v", g, h)
			}
			if n := p.link.resumed.Load() + p.link.released.Load(); n != 0 {
				t.Errorf("%d requests were made for what may be a copy", n)
			}
		})
	}
}

// stamped changes what the file system says.
func stamped(change func(*filesys.Stamp)) func(*system) {
	return func(s *system) {
		s.stamp = func(f *os.File) (filesys.Stamp, bool, error) {
			st, ok, err := filesys.StampOf(f)
			change(&st)
			return st, ok, err
		}
	}
}

// TestRealCopies: the file of before, put back, and the same with its times kept.
func TestRealCopies(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	before, err := os.ReadFile(r.file())
	if err != nil {
		t.Fatal(err)
	}
	written := time.Now()
	r.eventually("the copy is older than what is tolerated", func() bool {
		g = p.renew(g)
		return time.Since(written) > tolerance+500*time.Millisecond
	})
	p.kill()
	if err := os.WriteFile(r.file(), before, 0o600); err != nil {
		t.Fatal(err)
	}
	r.refused("an older content in the same file")
	if err := os.Rename(r.file(), r.file()+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file(), before, 0o600); err != nil {
		t.Fatal(err)
	}
	r.refused("a copy in its place")
}

// TestDamaged: if one of the records cannot be read, nothing is known.
func TestDamaged(t *testing.T) {
	for at := range 2 {
		r := newRig(t)
		r.left()
		b, err := os.ReadFile(r.file())
		if err != nil {
			t.Fatal(err)
		}
		mark := bytes.Index(b[at*recordSize:], []byte(`"mark":`)) + len(`"mark":`)
		b[at*recordSize+mark] = '1' // it was 9
		if err := os.WriteFile(r.file(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r.refused("a damaged record")
	}
}

// TestForeignFile: what is not a state file is not written over.
func TestForeignFile(t *testing.T) {
	r := newRig(t)
	text := bytes.Repeat([]byte("precious\n"), 1000)
	if err := os.WriteFile(r.file(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := r.start().Acquire(r.ctx(), r.request(4))
	if now, _ := os.ReadFile(r.file()); !errors.Is(err, coord.ErrInvalid) || !bytes.Equal(now, text) {
		t.Fatalf("a foreign file: %v", err)
	}
	for _, says := range []string{"it is not a state file, or damaged", "name another file, or delete it if it is one of this program"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// TestNoBootID: where the system has none, there never was one either.
func TestNoBootID(t *testing.T) {
	r := newRig(t)
	r.sys = func(s *system) { s.boot = func() string { return "" } }
	r.left()
	r.refused("no boot ID")
}

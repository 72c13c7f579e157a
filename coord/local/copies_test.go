package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/statefile"
)

// refused starts a process, which must not use what the file has, whether the back end answers or not.
func (r *rig) refused(why string, g coord.Grant) {
	r.Helper()
	r.away.Store(true)
	p := r.start()
	if h, err := p.Acquire(r.ctx(), r.request(4)); !errors.Is(err, errAway) {
		r.Errorf("%s: %v, %v; want the back end's error", why, h, err)
	}
	r.away.Store(false)
	if h := p.acquire(4); h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
		r.Errorf("%s: %v was gone on with: %v", why, g, h)
	}
	if n := r.sent[ops["resume"]].Load() + r.sent[ops["release"]].Load(); n != 0 {
		r.Errorf("%s: %d requests were made for what may be a copy", why, n)
	}
	p.kill()
}

// TestCopiesAreNotUsed: neither gone on with, nor resumed, nor given back.
func TestCopiesAreNotUsed(t *testing.T) {
	home := func(h statefile.Home) func(*system) {
		return func(s *system) { s.home = func() statefile.Home { return h } }
	}
	stamped := func(change func(*filesys.Stamp)) func(*system) {
		return func(s *system) {
			stamp := s.stamp
			s.stamp = func(f *os.File) (filesys.Stamp, bool, error) {
				st, ok, err := stamp(f)
				change(&st)
				return st, ok, err
			}
		}
	}
	here := statefile.Here()
	for why, change := range map[string]func(*system){
		"another machine": home(statefile.Home{Machine: "other", Boot: here.Boot}),
		"another boot":    home(statefile.Home{Machine: here.Machine, Boot: "other"}),
		"no boot ID":      home(statefile.Home{Machine: here.Machine}),
		"another device":  stamped(func(s *filesys.Stamp) { s.Device++ }),
		"another inode":   stamped(func(s *filesys.Stamp) { s.Inode++ }),
		"changed later":   stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(DefaultWindow/2 + time.Millisecond) }),
		"changed before":  stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(-DefaultWindow/2 - time.Millisecond) }),
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			g := r.left()
			r.sys = func(s *system) { r.disk.seam(s); change(s) }
			r.refused(why, g)
		})
	}
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		if err := os.Link(r.file(), r.file()+"2"); err != nil {
			t.Skip(err)
		}
		if h, err := r.start().Acquire(r.ctx(), r.request(4)); err == nil {
			t.Errorf("it has a second name: %v after %v", h, g)
		}
	})
}

// TestPutBack: a copy that is put over the file, however soon, does not bring back a mark that the clock
// may have passed, whatever the window is.
func TestPutBack(t *testing.T) {
	for _, window := range []time.Duration{MinWindow, DefaultWindow, MaxWindow} {
		for _, age := range []time.Duration{window / 4, window * 2 / 3, window, time.Second, 2*time.Second + window} {
			inBubble(t, func(t *testing.T, r *rig) {
				open := func() *process {
					p := r.start()
					p.window = window
					return p
				}
				p := open()
				g := p.acquire(4)
				before, err := os.ReadFile(r.file())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(age)
				p.renew(g)
				stamped := tickNow() + 5 // as far as its holder may, see Request.Ahead
				p.kill()
				if err := os.WriteFile(r.file(), before, 0o600); err != nil {
					t.Fatal(err)
				}
				r.disk.changed = time.Now()
				if h := open().acquire(4); h.WorkerID == g.WorkerID && h.NotBefore < stamped {
					t.Errorf("window %v: what was stamped until %d %v later is granted as %v", window, stamped, age, h)
				}
			})
		}
	}
}

// TestDamaged: a file that is cut anywhere, or has a bit that differs, says what it said, or nothing; and
// it is taken into use again.
func TestDamaged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		whole, err := os.ReadFile(r.file())
		if err != nil {
			t.Fatal(err)
		}
		said, _, _ := newestOf(whole)
		want, _ := json.Marshal(said)
		check := func(b []byte, what string, at int) {
			t.Helper()
			now, _, err := newestOf(b)
			if got, _ := json.Marshal(now); err != nil || now != nil && !bytes.Equal(got, want) {
				t.Errorf("%s at %d: %s, %v", what, at, got, err)
			}
		}
		for half := range 2 {
			first := half * recordSize
			for at := first; at < first+len(bytes.TrimRight(whole[first:first+recordSize], "\n"))+2; at++ {
				check(whole[:at], "cut", at)
				for bit := range 8 {
					whole[at] ^= 1 << bit
					check(whole, "flipped", at)
					whole[at] ^= 1 << bit
				}
			}
		}
		for _, b := range [][]byte{whole[:recordSize], whole[:recordSize+100], whole[:100], bytes.Replace(whole, []byte(`"mark":9`), []byte(`"mark":1`), 1), make([]byte, 4096)} {
			if err := os.WriteFile(r.file(), b, 0o600); err != nil {
				t.Fatal(err)
			}
			r.disk.changed = time.Now()
			p := r.start()
			if h := p.acquire(16); h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				t.Errorf("%v after %v", h, g)
			}
			p.kill()
		}
	})
}

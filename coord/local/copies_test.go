package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/statefile"
)

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
	const delayed = DefaultWindow/2 + time.Millisecond
	here := statefile.Here()
	for why, change := range map[string]func(*system){
		"another machine": home(statefile.Home{Machine: "other", Boot: here.Boot}),
		"another boot":    home(statefile.Home{Machine: here.Machine, Boot: "other"}),
		"no boot ID":      home(statefile.Home{Machine: here.Machine}),
		"another device":  stamped(func(s *filesys.Stamp) { s.Device++ }),
		"another inode":   stamped(func(s *filesys.Stamp) { s.Inode++ }),
		"a second name":   stamped(func(s *filesys.Stamp) { s.Links++ }),
		"changed later":   stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(delayed) }),
		"changed before":  stamped(func(s *filesys.Stamp) { s.Changed = s.Changed.Add(-delayed) }),
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			g := r.left()
			r.sys = func(s *system) { r.disk.seam(s); change(s) }
			r.away.Store(true)
			p := r.start()
			h, err := p.ask()
			if err == nil || why != "a second name" && !errors.Is(err, errAway) {
				t.Errorf("%s: %v, %v; want the back end's error", why, h, err)
			}
			if r.away.Store(false); why == "a second name" {
				return // which is an error for as long as it has one
			}
			h = p.acquire(4)
			n := r.sent[ops["resume"]].Load() + r.sent[ops["release"]].Load()
			if n != 0 || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				safetytest.Of(t).Errorf("%s: %v was gone on with: %v, and %d requests were made for it", why, g,
					h, n)
			}
		})
	}
}

// TestDamaged: a file that is cut anywhere, or has a bit that differs, says what it said, or
// nothing; and it is taken into use again.
func TestDamaged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.left()
		g := r.left()
		whole, err := os.ReadFile(r.file())
		if err != nil {
			t.Fatal(err)
		}
		said, _, _ := newestOf(whole)
		want, _ := json.Marshal(said)
		half := append(bytes.Repeat([]byte("\n"), recordSize), whole[recordSize:]...)
		for at := range whole {
			if at%recordSize > 2000 { // there is nothing
				continue
			}
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1 << (at % 8)
			for _, b := range [][]byte{whole[:at], flipped, half} {
				now, _, err := newestOf(b)
				if got, _ := json.Marshal(now); err != nil || now != nil && !bytes.Equal(got, want) {
					safetytest.Unless(t, err).Errorf("%d bytes, damaged at %d: %s, %v", len(b), at, got, err)
				}
			}
		}
		for _, b := range [][]byte{whole[:recordSize], whole[:recordSize+100], make([]byte, 4096)} {
			if err := os.WriteFile(r.file(), b, 0o600); err != nil {
				t.Fatal(err)
			}
			r.disk.changed = time.Now()
			p := r.start()
			if h := p.acquire(16); h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				safetytest.Of(t).Errorf("%v after %v", h, g)
			}
			p.kill()
		}
	})
}

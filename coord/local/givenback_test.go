package local

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestGivenBackIsDead: the grant is out of the file before the release is sent.
func TestGivenBackIsDead(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	g = p.renew(g)
	sent := false
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "release" {
			sent = true
			b, err := os.ReadFile(r.file())
			newest, _, _ := newestOf(b)
			if err != nil || newest == nil || len(newest.Grants) != 0 {
				t.Errorf("the release is sent, and the file has %+v, %v", newest, err)
			}
		}
		return nil
	}
	if err := p.Release(r.ctx(), g, g.NotBefore+1); err != nil || !sent {
		t.Fatal(err, sent)
	}
}

// TestReleaseWithoutDisk: what could not be taken out of the file is not given back.
func TestReleaseWithoutDisk(t *testing.T) {
	r := newRig(t)
	broken := false
	r.sys = func(s *system) {
		s.sync = func(f *os.File) error {
			if broken {
				return errors.New("broken")
			}
			return f.Sync()
		}
	}
	p := r.start()
	g := p.acquire(4)
	p.known()
	broken = true
	if err := p.Release(r.ctx(), g, g.NotBefore); err == nil || p.link.released.Load() != 0 {
		t.Errorf("Release: %v, %d sent", err, p.link.released.Load())
	}
}

// TestSurrenderInOrder: of the pairs that the back end may have, the older one is released first: a
// takeover that is on its way comes too late then. The other one is, if it has arrived.
func TestSurrenderInOrder(t *testing.T) {
	for name, early := range map[string]bool{"not arrived": false, "arrived": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g, token, late := r.unanswered()
			if early {
				late.arrive(r)
			}
			p := r.start()
			releases := 0
			p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
				if op == "release" {
					if releases++; releases == 2 {
						late.arrive(r)
					}
					if n := len(r.stored()); n != 0 {
						t.Errorf("a release is sent, and the file has %d grants", n)
					}
				}
				return nil
			}
			req := r.request(4)
			req.TTL *= 4 // so that it is given back
			h, err := p.Acquire(r.ctx(), req)
			if err != nil {
				t.Fatal(err)
			}
			late.arrive(r)
			if slot := r.slotOf(g); slot.Token == token || slot.Token == g.Token || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				t.Errorf("%v was given back, granted is %v, and stored is %+v", g, h, slot)
			}
		})
	}
}

// TestGivenBackStaysDead: a grant whose release has failed is dead, for this process and for the
// next one, whatever has become of the release.
func TestGivenBackStaysDead(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "release" {
			return errors.New("the answer is lost")
		}
		return nil
	}
	if err := p.Release(r.ctx(), g, g.NotBefore); err == nil {
		t.Fatal("the release has failed, and Release does not say so")
	}
	if h, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("renewed it is %v, %v", h, err)
	}
	if h, err := p.Acquire(r.ctx(), req); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("acquired again with its token it is %v, %v", h, err)
	}
	p.kill()
	if n := len(r.stored()); n != 0 {
		t.Errorf("the file has %d grants", n)
	}
	r.refused("what was given back is gone on with")
}

// TestCalledOffRelease: a generator that was closed with a context which had ended has not parked its worker ID. The next one of
// the process goes on with it all the same, above the mark, while the back end is away as well as when it answers.
func TestCalledOffRelease(t *testing.T) {
	for _, away := range []bool{true, false} {
		inBubble(t, func(t *testing.T, r *rig) {
			var disk atomic.Int64
			r.sys = bubbleDisk(&disk)
			p := r.start()
			g := p.acquire(1)
			p.known()
			g = p.renew(g)
			r.away.Store(away)
			time.Sleep(10 * time.Second)
			g = p.renew(g)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := p.Release(ended, g, g.NotBefore); !errors.Is(err, context.Canceled) || p.link.released.Load() != 0 {
				t.Errorf("away %t: %v", away, err)
			}
			if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("away %t: renewed after that: %v", away, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if h, err := p.Acquire(ctx, r.request(1)); err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
				t.Errorf("away %t: %v was let go; the next one is %v, %v", away, g, h, err)
			}
		})
	}
}

package local

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestCrashWhileAway: a process that crashed goes on above the mark while the back end is
// away, and has the same worker ID when it is back.
func TestCrashWhileAway(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	g = p.renew(g)
	p.kill()
	r.away.Store(true)
	p = r.start()
	h := p.acquire(4)
	if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Fatalf("after %v a restart without the back end has %v", g, h)
	}
	if h = p.renew(h); p.link.resumed.Load() != 0 {
		t.Fatal("a token was sent to a back end that is away")
	}
	r.away.Store(false)
	p.eventually("the grant is resumed in the back end", func() bool {
		h = p.renew(h)
		o, ok := p.Outage(h)
		return ok && o.Failing == nil && !o.Renewed.IsZero()
	})
	slots := r.server.Slots()
	if len(slots) != 1 || slots[0].Generation != 2 || slots[0].NotAfter < h.NotAfter {
		t.Fatalf("stored is %+v, granted %v", slots, h)
	}
	if err := p.Release(r.ctx(), h, h.NotBefore); err != nil {
		t.Fatal(err)
	}
	p.kill()
	next := r.start().acquire(1)
	if next.NotBefore < h.NotBefore || next.Generation != 3 {
		t.Fatalf("after the release of %v: %v", h, next)
	}
}

// stored returns the grants that the file has now.
func (r *rig) stored() []*entry {
	r.Helper()
	b, err := os.ReadFile(r.file())
	if err != nil {
		r.Fatal(err)
	}
	newest, why, err := newestOf(b)
	if newest == nil {
		r.Fatalf("the file cannot be read: %s, %v", why, err)
	}
	return newest.Grants
}

// TestCrashRightAfterTheGrant: a process that crashes as soon as it has its first grant is gone on
// for while the back end is away. No call but that of the grant is needed for it.
func TestCrashRightAfterTheGrant(t *testing.T) {
	r := newRig(t)
	p := r.start()
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "inspect" {
			return errAway
		}
		return nil
	}
	g := p.acquire(4)
	if e := r.stored()[0]; e.Nonce == "" || e.Nonce != r.server.Meta().Nonce {
		t.Errorf("the nonce in the file is %q, and that of the namespace %q", e.Nonce, r.server.Meta().Nonce)
	}
	p.kill()
	r.away.Store(true)
	if h := r.start().acquire(4); h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Errorf("after %v a restart without the back end has %v", g, h)
	}
}

// TestHandleThatTellsNothing: which namespace it is, is asked for then.
func TestHandleThatTellsNothing(t *testing.T) {
	r := newRig(t)
	p := r.start()
	p.link.silent = true
	p.acquire(4)
	p.known()
	p.kill()
	if e := r.stored()[0]; e.Nonce != r.server.Meta().Nonce {
		t.Errorf("the nonce in the file is %q, and that of the namespace %q", e.Nonce, r.server.Meta().Nonce)
	}
}

// TestCrashWithBackEnd: the same worker ID is resumed above the mark.
func TestCrashWithBackEnd(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	p.kill()
	for n := range uint64(5) {
		p = r.start()
		h := p.acquire(4)
		if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter || h.Generation != n+2 {
			t.Fatalf("restart %d: %v follows %v", n, h, g)
		}
		g = h
		p.kill()
	}
}

// TestParked: a Close in an outage sends nothing, and the next start goes on at once.
func TestParked(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	g = p.fails(g)
	last := g.NotBefore + 17
	if err := p.Release(r.ctx(), g, last); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("renewal of what was parked: %v", err)
	}
	p.kill()
	p = r.start()
	if h := p.acquire(4); h.WorkerID != g.WorkerID || h.NotBefore != last {
		t.Fatalf("%v was parked at %d, the next start has %v", g, last, h)
	}
}

// TestClockBehind: with a clock far behind the mark, another worker ID is leased; while the
// back end is away, the window opens when the clock is there.
func TestClockBehind(t *testing.T) {
	for _, away := range []bool{false, true} {
		r := newRig(t)
		g := r.left()
		r.away.Store(away)
		req := r.request(4)
		req.Now, req.Until, req.OpenBy = req.Now-10*horizon, req.Until-10*horizon, req.OpenBy-10*horizon
		switch h, err := r.start().Acquire(r.ctx(), req); {
		case !away && (err != nil || h.WorkerID == g.WorkerID):
			t.Errorf("%v, %v after %v; want another worker ID", h, err, g)
		case away && (err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter):
			t.Errorf("away: %v, %v after %v; want the same, above it", h, err, g)
		}
	}
}

// TestClockAhead: with a clock past the end of the window, the back end is needed.
func TestClockAhead(t *testing.T) {
	r := newRig(t)
	g := r.left()
	req := r.request(4)
	req.Now, req.Until = req.Now+2*horizon, req.Until+2*horizon
	r.away.Store(true)
	p := r.start()
	if h, err := p.Acquire(r.ctx(), req); !errors.Is(err, errAway) {
		t.Errorf("away: %v, %v", h, err)
	}
	r.away.Store(false)
	if h, err := p.Acquire(r.ctx(), req); err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Errorf("%v, %v after %v; want the same, above it", h, err, g)
	}
}

// TestRestoredBackEnd: a back end that has come back with a backup, of which nobody else knows anything, has forgotten what the file
// remembers. What it grants anew begins above the mark.
func TestRestoredBackEnd(t *testing.T) {
	for _, late := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			var disk atomic.Int64
			r.sys = bubbleDisk(&disk)
			if err := memory(t, r.server).Init(r.ctx(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024, MaxHorizon: declaredHorizon}); err != nil {
				t.Fatal(err)
			}
			restore := r.server.Snapshot()
			p := r.start()
			g := p.renew(p.acquire(1))
			p.known()
			if p.kill(); late {
				r.leftLate(10*time.Second, false)
			}
			restore()
			p = r.start()
			for range 2 { // one of them is what was forgotten
				req := r.request(2)
				h, err := p.Acquire(r.ctx(), req)
				for n := 0; n < 5 && err != nil; n++ {
					h, err = p.Acquire(r.ctx(), req)
				}
				if err != nil || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
					t.Errorf("after %v, of which the back end knows nothing: %v, %v", g, h, err)
				}
			}
		})
	}
}

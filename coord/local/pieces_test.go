package local

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// floored raises the floor to a tick above the window that is granted, and renews.
func (p *process) floored(g coord.Grant, ahead int64) (coord.Grant, int64) {
	p.Helper()
	p.Coordinator.mu.Lock()
	floor := p.holds[g.Token].entry.end() + ahead
	p.Coordinator.mu.Unlock()
	at, err := p.Quarantine(p.ctx(), time.UnixMicro(scale.Micro(floor)))
	if err != nil {
		p.Fatal(err)
	}
	return g, scale.Tick(at.UnixMicro())
}

// TestPieces: what lies between a window and the floor is nobody's, in this process and in
// the next one.
func TestPieces(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	g, floor := p.floored(g, 1000)
	until := floor + 5000
	var err error
	p.Coordinator.mu.Lock()
	h := p.holds[g.Token]
	end := h.entry.end()
	h.due = time.Time{}
	p.Coordinator.mu.Unlock()
	if g, err = p.Renew(r.ctx(), g, until); err != nil {
		t.Fatal(err)
	}
	seen := false
	for range 20 { // the keeper's clock runs up to the end of the first piece
		before := g
		if g, err = p.Renew(r.ctx(), g, until); err != nil {
			t.Fatal(err)
		}
		if g.NotBefore == before.NotBefore && before.NotAfter <= end && g.NotAfter > end {
			t.Fatalf("%v was extended over the gap (%d, %d]: %v", before, end, floor, g)
		}
		if g.NotBefore != before.NotBefore {
			seen = true
			if g.NotBefore != floor || g.NotAfter <= floor {
				t.Fatalf("the piece is %v; the floor %d", g, floor)
			}
		}
		until += 2000
	}
	if !seen {
		t.Fatalf("no piece came: %v, floor %d", g, floor)
	}
	p.kill()
	r.away.Store(true)
	p = r.start()
	if h := p.acquire(4); h.NotBefore < g.NotAfter {
		t.Fatalf("%v follows %v", h, g)
	}
}

// TestManyPieces: there are never so many that two become one.
func TestManyPieces(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	var all []piece
	for range 2 * maxPieces {
		var floor int64
		g, floor = p.floored(g, 1)
		p.Coordinator.mu.Lock()
		h := p.holds[g.Token]
		before := len(h.entry.Pieces)
		c := h.entry.clone()
		p.extend(h, floor+1)
		ended := h.ended
		p.Coordinator.mu.Unlock()
		<-ended
		p.Coordinator.mu.Lock()
		all = h.entry.clone().Pieces
		p.Coordinator.mu.Unlock()
		if len(all) > maxPieces {
			t.Fatalf("%d pieces", len(all))
		}
		for i := range before {
			if all[i] != c.Pieces[i] {
				t.Fatalf("piece %d was %v and is %v", i, c.Pieces[i], all[i])
			}
		}
	}
	if len(all) != maxPieces {
		t.Errorf("%d pieces: %v", len(all), all)
	}
}

// TestRestartInPieces: a restart begins in the piece that the clock is in, above the mark.
func TestRestartInPieces(t *testing.T) {
	e := &entry{Pieces: []piece{{0, 100}, {200, 300}, {400, 500}}}
	for tick, want := range map[int64]piece{0: {0, 100}, 99: {0, 100}, 100: {200, 300}, 150: {200, 300}, 299: {200, 300}, 300: {400, 500}, 499: {400, 500}, 500: {400, 500}, 900: {400, 500}} {
		if got := e.at(tick); got != want {
			t.Errorf("at %d: %v; want %v", tick, got, want)
		}
	}
}

// TestTakenOverWithoutRoom: a grant that is resumed above a floor, and whose file has no room for one more piece, is held
// under its new token all the same.
func TestTakenOverWithoutRoom(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	for range maxPieces {
		var floor int64
		g, floor = p.floored(g, 1)
		p.Coordinator.mu.Lock()
		h := p.holds[g.Token]
		p.extend(h, floor+1)
		ended := h.ended
		p.Coordinator.mu.Unlock()
		<-ended
	}
	p.known()
	p.floored(g, 1)
	p.kill()
	p = r.start()
	if h := p.acquire(4); h.WorkerID != g.WorkerID {
		t.Fatalf("%v was left, granted is %v", g, h)
	} else {
		g = h
	}
	for range 3 {
		p.Coordinator.mu.Lock()
		h := p.holds[g.Token]
		p.extend(h, tickNow()+horizon)
		ended := h.ended
		p.Coordinator.mu.Unlock()
		<-ended
		if _, err := p.Renew(r.ctx(), g, tickNow()+1); err != nil {
			t.Fatal(err)
		}
	}
}

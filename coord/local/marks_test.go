package local

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestFirstMark: what Acquire returns is on the disk, however the grant was come by.
func TestFirstMark(t *testing.T) {
	for how, before := range map[string]func(*rig){
		"leased":                    func(*rig) {},
		"taken over":                func(r *rig) { r.left() },
		"without the back end":      func(r *rig) { r.left(); r.away.Store(true) },
		"parked, and resumed again": func(r *rig) { r.parked() },
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			before(r)
			now := tickNow() // in which the mark may lie as far ahead as it may
			r.eventually("the next tick", func() bool { return tickNow() > now })
			g := r.start().acquire(4)
			grants := r.stored()
			if len(grants) != 1 || grants[0].Worker != g.WorkerID || g.NotAfter <= g.NotBefore || grants[0].Mark < g.NotAfter {
				t.Errorf("%v is granted, and the file has %+v", g, grants)
			}
		})
	}
}

// parked starts a process, takes the back end away, ends the process in order, and brings the back
// end back.
func (r *rig) parked() {
	r.Helper()
	r.left()
	r.away.Store(true)
	p := r.start()
	g := p.acquire(4)
	if err := p.Release(r.ctx(), g, g.NotBefore); err != nil {
		r.Fatal(err)
	}
	p.kill()
	r.away.Store(false)
}

// TestMarkEndsWithItsPiece: however far ahead of the clock the mark is to lie, it does not pass the
// end of the piece that it lies in.
func TestMarkEndsWithItsPiece(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	r.away.Store(true)
	p.Coordinator.mu.Lock()
	end := p.holds[g.Token].entry.end()
	p.Coordinator.mu.Unlock()
	g, err := p.Renew(r.ctx(), g, end-100+horizon) // the generator's clock is 100 ticks before the end
	if err != nil {
		t.Fatal(err)
	}
	if e := r.stored()[0]; g.NotAfter != end || e.Mark != end {
		t.Errorf("the window in the back end ends at %d; granted is %v, and the mark in the file is %d", end, g, e.Mark)
	}
	if g, err = p.Renew(r.ctx(), g, end+100+horizon); err == nil {
		t.Errorf("the window in the back end ends at %d, and granted is %v", end, g)
	}
	if e := r.stored()[0]; e.Mark != end {
		t.Errorf("the window in the back end ends at %d, and the mark in the file is %d", end, e.Mark)
	}

	h := &hold{entry: &entry{Mark: 90, Pieces: []piece{{0, 100}, {200, 300}}}}
	for _, to := range []int64{95, 150, 250} { // at any save, of another grant perhaps
		h.raise(to)
		if h.entry.Mark > 100 {
			t.Errorf("raised to %d, the mark is %d, past the piece %v", to, h.entry.Mark, h.entry.Pieces[0])
		}
	}
	if h.step(250); h.entry.Mark < 200 {
		t.Errorf("the first piece is spent, and the mark is %d", h.entry.Mark)
	}
}

// TestRenewedIsOfTheBackEnd: who goes on without the back end says when it has extended the window
// last, for a process before this one.
func TestRenewedIsOfTheBackEnd(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.renewedByBackEnd(g)
	o, ok := p.Outage(g)
	p.kill()
	r.away.Store(true)
	for range 2 { // the second one follows one that has not reached the back end either
		p = r.start()
		h := p.acquire(4)
		if again, also := p.Outage(h); !ok || !also || !again.Renewed.Equal(o.Renewed) || again.Failing == nil {
			t.Errorf("renewed at %v, and after a start in an outage %v, failing: %v", o.Renewed, again.Renewed, again.Failing)
		}
		p.kill()
	}
	r.away.Store(false)
	p = r.start()
	h := p.resumes()
	if now, _ := p.Outage(h); !now.Renewed.After(o.Renewed) || time.Since(now.Renewed) > time.Minute {
		t.Errorf("renewed at %v, and after it was resumed %v", o.Renewed, now.Renewed)
	}
}

// renewedByBackEnd has the back end extend the window of a grant, and the file say so.
func (p *process) renewedByBackEnd(g coord.Grant) {
	p.Helper()
	p.Coordinator.mu.Lock()
	h := p.holds[g.Token]
	p.extend(h, tickNow()+horizon)
	ended := h.ended
	p.Coordinator.mu.Unlock()
	<-ended
	p.Coordinator.mu.Lock()
	defer p.Coordinator.mu.Unlock()
	if err := p.store(p.ctx()); err != nil || h.failing != nil {
		p.Fatal(err, h.failing)
	}
}

package local

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// lateReply has the first reply to Resume delayed.
type lateReply struct {
	*link
	first       atomic.Bool
	sent, reply chan struct{}
}

func (l *lateReply) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	r, err := l.link.Resume(ctx, g, token, until)
	if err == nil && !l.first.Swap(true) {
		close(l.sent)
		<-l.reply
	}
	return r, err
}

// TestPairs: a reply that comes late, after its grant was parked and taken over again, by the next
// holder with the same token, or by the one after that with another one.
func TestPairs(t *testing.T) {
	for name, more := range map[string]int{"same token": 0, "another token": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.left()
			r.away.Store(true)
			p := r.start()
			g := p.acquire(4)
			late := &lateReply{link: p.link, sent: make(chan struct{}), reply: make(chan struct{})}
			p.Coordinator.inner = late
			r.away.Store(false)
			p.Coordinator.mu.Lock()
			p.extend(p.holds[g.Token], tickNow()+horizon)
			ended := p.holds[g.Token].ended
			p.Coordinator.mu.Unlock()
			<-late.sent // the grant is resumed, and nobody knows
			g = p.parksAndResumes(g)
			for range more {
				g = p.parksAndResumes(p.fails(g))
			}
			close(late.reply)
			<-ended
			p.Coordinator.mu.Lock()
			pairs := p.entries[0].Pairs
			p.Coordinator.mu.Unlock()
			if slot := r.slotOf(g); len(pairs) != 1 || (pairs[0] != pair{slot.Generation, slot.Token}) || slot.Generation != uint64(2+more) {
				t.Errorf("the file has %v, the back end generation %d, %s", pairs, slot.Generation, slot.Token)
			}
			p.renewedByBackEnd(g)
		})
	}
}

// parksAndResumes gives a grant back that the back end does not renew, and acquires it again, which
// resumes it.
func (p *process) parksAndResumes(g coord.Grant) coord.Grant {
	p.Helper()
	if err := p.Release(p.ctx(), g, g.NotBefore); err != nil {
		p.Fatal(err)
	}
	p.away.Store(false)
	h := p.resumes()
	if h.WorkerID != g.WorkerID {
		p.Fatalf("%v follows %v", h, g)
	}
	return h
}

// resumes acquires, and waits until the back end has resumed it: on a machine that is busy, Acquire may
// not have waited for that.
func (p *process) resumes() coord.Grant {
	p.Helper()
	g := p.acquire(4)
	p.eventually("the grant is resumed", func() bool {
		p.Coordinator.mu.Lock()
		defer p.Coordinator.mu.Unlock()
		h := p.holds[g.Token]
		if h.alone {
			p.extend(h, tickNow()+horizon)
		}
		return !h.alone
	})
	return g
}

// fails takes the back end away, and renews until that is noticed.
func (p *process) fails(g coord.Grant) coord.Grant {
	p.Helper()
	p.away.Store(true)
	p.Coordinator.mu.Lock()
	h := p.holds[g.Token]
	p.extend(h, tickNow()+horizon)
	ended := h.ended
	p.Coordinator.mu.Unlock()
	<-ended
	g = p.renew(g)
	if o, _ := p.Outage(g); o.Failing == nil {
		p.Fatal("the back end is away, and nothing fails")
	}
	return g
}

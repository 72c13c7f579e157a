package local

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestTokensAreKept: what a Resume without an answer has made is found by the next process,
// and by the one after it.
func TestTokensAreKept(t *testing.T) {
	r := newRig(t)
	g := r.left()
	for range 3 { // each takes over, and is killed before it learns that it did
		p := r.start()
		p.link.lose.Store(1000)
		h := p.acquire(4)
		if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
			t.Fatalf("%v follows %v", h, g)
		}
		g = h
		p.kill()
	}
	p := r.start()
	h := p.acquire(4)
	if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Fatalf("%v follows %v", h, g)
	}
	if slot := r.server.Slots()[0]; slot.Generation != 2 || slot.Token == h.Token {
		t.Errorf("stored is %+v", slot)
	}
}

// TestForeignGeneration: a back end that makes another generation of it has lost something.
func TestForeignGeneration(t *testing.T) {
	r := newRig(t)
	g := r.left()
	p := r.start()
	p.link.generations = 1
	if h := p.acquire(4); h.WorkerID == g.WorkerID {
		t.Errorf("%v was resumed as %v", g, h)
	}
}

// TestTokenIsStoredFirst: what is sent is in the file.
func TestTokenIsStoredFirst(t *testing.T) {
	r := newRig(t)
	r.left()
	p := r.start()
	sent := ""
	p.link.trouble = func(op string, apply func(coord.Coordinator)) error {
		if op == "resume" {
			apply(teller{p.link.Coordinator, func(token string) { sent = token }})
			b, err := os.ReadFile(r.file())
			if err != nil || !strings.Contains(string(b), sent) {
				t.Errorf("a token was sent that is not in the file: %v", err)
			}
		}
		return nil
	}
	p.acquire(4)
	if sent == "" {
		t.Error("nothing was resumed")
	}
}

// teller tells the token of a Resume, and makes none.
type teller struct {
	coord.Coordinator
	tell func(token string)
}

func (c teller) Resume(_ context.Context, _ coord.Grant, token string, _ int64) (coord.Grant, error) {
	c.tell(token)
	return coord.Grant{}, errAway
}

// TestCrashLoopWhileAway: however often a process is started while the back end is away, the
// file does not grow, and the next one has the same worker ID.
func TestCrashLoopWhileAway(t *testing.T) {
	r := newRig(t)
	g := r.left()
	r.away.Store(true)
	for range 32 {
		p := r.start()
		h := p.acquire(4)
		if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
			t.Fatalf("%v follows %v", h, g)
		}
		g = h
		p.kill()
		if p.link.resumed.Load() != 0 {
			t.Fatal("a token was sent")
		}
	}
	r.away.Store(false)
	if h := r.start().acquire(4); h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Fatalf("%v follows %v", h, g)
	}
	if slot := r.server.Slots()[0]; slot.Generation != 2 {
		t.Errorf("stored is %+v", slot)
	}
}

// post keeps the requests to resume that a process sends, so that they arrive when a test wants it.
type post struct {
	mu   sync.Mutex
	sent []func(coord.Coordinator)
}

// keeps has the requests of a process kept. Their sender is told that the back end is away.
func (o *post) keeps(p *process) {
	p.link.trouble = func(op string, apply func(coord.Coordinator)) error {
		if op != "resume" {
			return nil
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent = append(o.sent, apply)
		return errAway
	}
}

// arrive has all of them arrive at the back end, from nobody. They can arrive again.
func (o *post) arrive(r *rig) {
	r.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.sent) == 0 {
		r.Fatal("nothing was sent")
	}
	for _, apply := range o.sent {
		apply(memory(r.TB, r.server))
	}
}

// unanswered leaves a grant whose process was killed, and the requests of the next one, which was
// killed as well before any of them has arrived.
func (r *rig) unanswered() (g coord.Grant, token string, late *post) {
	r.Helper()
	g, late = r.left(), &post{}
	p := r.start()
	late.keeps(p)
	h := p.acquire(4)
	if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		r.Fatalf("%v follows %v", h, g)
	}
	p.kill()
	e := r.stored()[0]
	if len(e.Pairs) != 2 {
		r.Fatalf("the file has %v", e.Pairs)
	}
	return h, e.Pairs[1].Token, late
}

// slotOf is what the back end has of a grant's worker ID.
func (r *rig) slotOf(g coord.Grant) protocol.Slot {
	r.Helper()
	for _, slot := range r.server.Slots() {
		if slot.Worker == g.WorkerID {
			return slot
		}
	}
	r.Fatalf("there is no slot of %v", g)
	return protocol.Slot{}
}

// TestLateResume: a token without an answer is sent again by whoever goes on with the file. The
// requests of the dead that arrive later are renewals while that one holds the worker ID, and nothing
// once it was given back, or resumed by the next one.
func TestLateResume(t *testing.T) {
	r := newRig(t)
	g, token, late := r.unanswered()
	p := r.start()
	h := p.resumes()
	if slot := r.slotOf(h); h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter || slot.Generation != 2 || slot.Token != token {
		t.Fatalf("%v follows %v, and stored is %+v; want the token that was sent before, %s", h, g, slot, token)
	}
	before := r.slotOf(h)
	late.arrive(r)
	if slot := r.slotOf(h); slot.Generation != 2 || slot.Token != token || slot.NotBefore != before.NotBefore || slot.NotAfter < before.NotAfter {
		t.Errorf("a late request has made %+v of %+v", slot, before)
	}
	h = p.renew(h)
	p.renewedByBackEnd(h)

	p.kill()
	p = r.start()
	next := p.resumes()
	taken := r.slotOf(next)
	if next.WorkerID != g.WorkerID || taken.Generation != 3 || taken.Token == token {
		t.Fatalf("%v follows %v, and stored is %+v", next, h, taken)
	}
	if late.arrive(r); r.slotOf(next) != taken {
		t.Errorf("a late request has made %+v of %+v, which the next one has resumed", r.slotOf(next), taken)
	}

	last := next.NotBefore + 1
	if err := p.Release(r.ctx(), next, last); err != nil {
		t.Fatal(err)
	}
	free := r.slotOf(next)
	if late.arrive(r); free.Token != "" || free.NotAfter != last || r.slotOf(next) != free {
		t.Errorf("a late request has made %+v of %+v, which was given back at %d", r.slotOf(next), free, last)
	}
}

package local

import (
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestGrantedAnew: a worker ID that is granted once more is in the file once, and whoever had it
// has lost it. An answer that comes too late changes nothing.
func TestGrantedAnew(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	p.Coordinator.mu.Lock()
	defer p.Coordinator.mu.Unlock()
	late := coord.Grant{WorkerID: g.WorkerID, Generation: g.Generation, Token: rand.Text(), NotAfter: tickNow() + horizon}
	if _, err := p.enter(r.ctx(), late, asking{Request: r.request(4)}); err == nil || p.holds[g.Token] == nil {
		t.Errorf("an answer that is late: %v", err)
	}
	req := r.request(4)
	anew := coord.Grant{WorkerID: g.WorkerID, Generation: g.Generation + 1, Token: req.Token, NotBefore: tickNow() + horizon, NotAfter: tickNow() + 2*horizon}
	if _, err := p.enter(r.ctx(), anew, asking{Request: req, entered: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if len(p.entries) != 1 || p.entries[0].Pairs[0] != (pair{anew.Generation, anew.Token}) {
		t.Errorf("the file has %d entries", len(p.entries))
	}
	if _, err := p.find(g); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("who had it before: %v", err)
	}
}

// TestTwiceInFile: a file that has a worker ID twice is not one that was written here.
func TestTwiceInFile(t *testing.T) {
	e := func() *entry {
		return &entry{Worker: 3, Layout: layout, TTL: 1, Pairs: []pair{{1, "a"}}, Pieces: []piece{{1, 2}}}
	}
	b, err := (&record{Sequence: 1, Grants: []*entry{e()}}).encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(b); err != nil {
		t.Fatal(err)
	}
	if b, err = (&record{Sequence: 1, Grants: []*entry{e(), e()}}).encode(); err != nil {
		t.Fatal(err)
	}
	if r, err := decode(b); err == nil {
		t.Errorf("worker ID 3 twice: %+v", r)
	}
}

// TestTokenOfTheFile: nothing is acquired with a token that is in the file: the back end would
// return its window from the beginning.
func TestTokenOfTheFile(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()
	p = r.start()
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "resume" {
			return errors.New("the slot is damaged")
		}
		return nil
	}
	now := tickNow() + 2*horizon // its window is over
	req.Now, req.Until = now, now+horizon
	if h, err := p.Acquire(r.ctx(), req); err == nil {
		t.Errorf("after %v, with its token: %v", g, h)
	}
}

// TestTokenOfTheFileWithoutDisk: a disk that stops between two attempts of one acquisition. The
// record of the first one may be in the file, so that another worker ID is leased, with another token.
func TestTokenOfTheFileWithoutDisk(t *testing.T) {
	r := newRig(t)
	d := &disk{}
	once := failOnce(func() { d.set(nil, errors.New("input/output error")) })
	r.sys = func(s *system) {
		d.seam(s)
		once(s)
	}
	p := r.start()
	req := r.request(4)
	if _, err := p.Acquire(r.ctx(), req); err == nil {
		t.Fatal("nothing was stored")
	}
	p.Coordinator.mu.Lock()
	p.disk, p.since = errors.New("state file: it hangs"), p.saver.wanted
	p.Coordinator.mu.Unlock()
	named := p.entries[0].Worker
	g, err := p.Acquire(r.ctx(), req)
	if err != nil || g.WorkerID == named || g.Token != req.Token {
		t.Fatalf("the file may have worker ID %d; what was granted without it is %v, %v", named, g, err)
	}
	if now := r.slotOf(g); now.Token == req.Token || now.Token == "" {
		t.Errorf("the back end has %+v", now)
	}
	if h, err := p.Acquire(r.ctx(), req); err != nil || h.WorkerID != g.WorkerID {
		t.Errorf("asked again: %v, %v after %v", h, err, g)
	}
	g = p.renew(g)
	if err := p.Release(r.ctx(), g, g.NotBefore); err != nil || r.slotOf(g).Token != "" {
		t.Errorf("released: %v, %+v", err, r.slotOf(g))
	}
	if g, err := p.Acquire(r.ctx(), r.request(4)); err != nil || g.WorkerID == p.entries[0].Worker {
		t.Errorf("another acquisition: %v, %v", g, err)
	}
}

// TestNothingIsLeasedWithoutDisk: processes that end because of their disk, one after the other,
// lease nothing.
func TestNothingIsLeasedWithoutDisk(t *testing.T) {
	r := newRig(t)
	d := &disk{}
	r.sys = d.seam
	d.set(nil, errors.New("input/output error"))
	if err := os.WriteFile(r.file(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.sys = func(s *system) {
		s.write = func(f *os.File, b []byte, at int64) error {
			if b[0] != '\n' {
				return errors.New("input/output error")
			}
			_, err := f.WriteAt(b, at)
			return err
		}
	}
	p := r.start()
	if g, err := p.Acquire(r.ctx(), r.request(4)); err == nil || len(r.server.Slots()) != 0 {
		t.Errorf("%v, %v; the back end has %v", g, err, r.server.Slots())
	}
}

// TestBareIsNoneOfTheFile: what is leased while the disk does not answer is another worker ID than
// those in the file, even if their leases are over, and its window is no longer than the driver's
// own.
func TestBareIsNoneOfTheFile(t *testing.T) {
	r, d := newRig(t), &disk{}
	r.sys = d.seam
	p := r.start()
	g := p.acquire(4)
	p.known()
	d.set(nil, errors.New("input/output error"))
	p.Coordinator.mu.Lock()
	p.disk, p.since = errors.New("state file: it hangs"), p.saver.wanted
	p.Coordinator.mu.Unlock()
	r.server.Expire(g.WorkerID)
	req := r.request(4)
	req.Until, req.Identity = req.Now+10*horizon, ""
	h, err := p.Acquire(r.ctx(), req)
	if err != nil || h.WorkerID == g.WorkerID || h.NotAfter > req.Now+4*horizon {
		t.Fatalf("the file has %v, and granted was %v, %v", g, h, err)
	}
	next, err := p.Renew(r.ctx(), h, tickNow()+10*horizon)
	if err != nil || next.NotAfter > tickNow()+4*horizon {
		t.Errorf("renewed: %v, %v", next, err)
	}
	req = r.request(4)
	req.Workers = coord.Range{First: g.WorkerID, Count: 1}
	if h, err := p.Acquire(r.ctx(), req); err == nil {
		t.Errorf("the file names all, and granted was %v", h)
	}
	for _, slot := range r.server.Slots() {
		if slot.Worker == g.WorkerID && slot.Generation != g.Generation {
			t.Errorf("the file has %v, and its worker ID was leased as generation %d", g, slot.Generation)
		}
	}
}

// TestAnotherTTLAlone: a grant with the same identity and another TTL is given back, once it is
// out of the file, and leased anew.
func TestAnotherTTLAlone(t *testing.T) {
	r := newRig(t)
	g := r.left()
	p := r.start()
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "release" {
			b, err := os.ReadFile(r.file())
			newest, _, _ := newestOf(b)
			if err != nil || newest == nil || len(newest.Grants) != 0 {
				t.Errorf("the release is sent, and the file has %+v, %v", newest, err)
			}
		}
		return nil
	}
	req := r.request(4)
	req.TTL *= 4
	h, err := p.Acquire(r.ctx(), req)
	if err != nil || p.link.released.Load() != 1 || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
		t.Fatalf("%v was left, granted was %v, %v", g, h, err)
	}
	for _, slot := range r.server.Slots() {
		if slot.Worker == h.WorkerID && slot.Lease() != req.TTL {
			t.Errorf("its lease lasts %v", slot.Lease())
		}
	}
}

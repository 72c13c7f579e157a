package local

import (
	"testing"
	"time"
)

// TestTTLChanged: the TTL was changed between two runs; renewals are made at the new
// interval, and the lease in the back end has the old one.
func TestTTLChanged(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	req.TTL, req.Identity, req.Holder = time.Second, "old", "old process"
	if _, err := p.Acquire(r.ctx(), req); err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()
	p = r.start()
	req = r.request(4)
	req.TTL, req.Identity, req.Holder = time.Minute, "new", "new process"
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	p.Coordinator.mu.Lock()
	every := p.holds[g.Token].every
	p.Coordinator.mu.Unlock()
	for _, slot := range r.server.Slots() {
		if slot.Worker == g.WorkerID && slot.Lease() <= every {
			t.Errorf("the lease lasts %v, and is renewed every %v", slot.Lease(), every)
		}
		if slot.Worker == g.WorkerID && (slot.Identity != req.Identity || slot.Holder != req.Holder) {
			t.Errorf("operators see the holder %q with identity %q; it is %q with %q", slot.Holder, slot.Identity, req.Holder, req.Identity)
		}
	}
}

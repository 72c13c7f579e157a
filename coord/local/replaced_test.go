package local

import (
	"testing"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestAnotherLayoutMadeAnew: a namespace of the same name that was made anew with another layout counts its generations
// from the beginning. What the file has of the old one is no newer grant of the same worker ID.
func TestAnotherLayoutMadeAnew(t *testing.T) {
	r := newRig(t)
	g := r.left()
	r.server = memstore.NewServer("b")
	p := r.start()
	req := r.request(1)
	req.Fingerprint = "40/10/13/1ms/2024-01-01T00:00:00Z"
	req.LastTick = 1<<40 - 1
	h, err := p.Acquire(r.ctx(), req)
	if err != nil || h.WorkerID != g.WorkerID {
		t.Fatalf("the file has %v of another layout; granted is %v, %v", g, h, err)
	}
	if h, err = p.Renew(r.ctx(), h, tickNow()+horizon); err != nil || h.NotAfter <= tickNow() {
		t.Errorf("renewed: %v, %v", h, err)
	}
}

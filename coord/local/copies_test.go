package local

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/statefile"
)

// TestCopiesAreNotUsed: a grant in a file that does not fit is neither gone on with, nor resumed,
// nor given back.
func TestCopiesAreNotUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		r.sys = func(s *statefile.System) {
			r.disk.seam(s)
			s.Home = func() statefile.Home { return statefile.Home{Machine: "another", Boot: "another"} }
		}
		r.away.Store(true)
		p := r.start()
		if h, err := p.ask(); !errors.Is(err, errAway) {
			t.Errorf("%v, %v; want the back end's error", h, err)
		}
		r.away.Store(false)
		h := p.acquire(4)
		n := r.sent[ops["resume"]].Load() + r.sent[ops["release"]].Load()
		if n != 0 || h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
			safetytest.Of(t).Errorf("%v was gone on with: %v, and %d requests were made for it", g, h, n)
		}
	})
}

package local

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/filesys"
)

// TestParkedTooLate: a grant whose parking is not stored in time may be somebody else's in this process by then. The mark
// of that one stays.
func TestParkedTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var slow atomic.Bool
		var changed time.Time
		r.sys = func(s *system) {
			write, sync, stamp := s.write, s.sync, s.stamp
			s.write = func(f *os.File, b []byte, at int64) error {
				changed = time.Now()
				return write(f, b, at)
			}
			s.stamp = func(f *os.File) (filesys.Stamp, bool, error) {
				st, known, err := stamp(f)
				st.Changed = changed
				return st, known, err
			}
			s.sync = func(f *os.File) error {
				if slow.Load() {
					time.Sleep(2 * time.Second) // the disk's
				}
				return sync(f)
			}
		}
		first := r.left()
		r.away.Store(true)
		p := r.start()
		time.Sleep(4 * time.Second)
		g := p.renew(p.acquire(4))
		slow.Store(true)
		other := make(chan struct{})
		go func() { // something else is being stored
			defer close(other)
			p.known()
		}()
		time.Sleep(100 * time.Millisecond)
		parked := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(r.Context(), 2500*time.Millisecond)
			defer cancel()
			parked <- p.Release(ctx, g, g.NotBefore)
		}()
		time.Sleep(100 * time.Millisecond)
		h := p.acquire(4)
		if err := <-parked; err == nil || h.WorkerID != first.WorkerID {
			t.Fatalf("parked: %v; granted is %v", err, h)
		}
		<-other
		slow.Store(false)
		stamped := h.NotAfter
		if back, err := p.Renew(p.ctx(), h, tickNow()-20_000+horizon); err != nil { // the clock steps back
			t.Fatalf("%v, %v", back, err)
		}
		p.known()
		p.kill()
		if again := r.start().acquire(4); again.WorkerID != h.WorkerID || again.NotBefore < stamped {
			t.Errorf("%v may have been stamped to tick %d; the next start has %v", h, stamped, again)
		}
	})
}

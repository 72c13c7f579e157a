package local

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// moment is when something has happened so many times.
type moment struct {
	left atomic.Int64
	come chan struct{}
}

func newMoment(n int64) *moment {
	m := &moment{come: make(chan struct{})}
	m.left.Store(n)
	return m
}

func (m *moment) count() {
	if m.left.Add(-1) == 0 {
		close(m.come)
	}
}

// TestCloseBeside: Close beside everything else, before any call to the back end or any step of the
// disk. Nothing hangs, and the file is free afterwards.
func TestCloseBeside(t *testing.T) {
	r := newRig(t)
	for range 40 {
		m := newMoment(rand.Int64N(120) + 1)
		r.sys = func(s *system) {
			write, sync := s.write, s.sync
			s.write = func(f *os.File, b []byte, at int64) error { m.count(); return write(f, b, at) }
			s.sync = func(f *os.File) error { m.count(); return sync(f) }
		}
		p := r.start()
		p.link.trouble = func(string, func(coord.Coordinator)) error {
			m.count()
			if rand.IntN(8) == 0 {
				return errAway
			}
			return nil
		}
		var work sync.WaitGroup
		for range 4 {
			work.Go(func() {
				for p.life.Context().Err() == nil {
					p.lives(t.Context())
				}
			})
		}
		<-m.come
		p.kill()
		work.Wait()
	}
}

// lives acquires, renews, and gives back or does not.
func (p *process) lives(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(50))*time.Millisecond)
	defer cancel()
	g, err := p.Acquire(ctx, p.request(16))
	for range 5 {
		if err == nil {
			var next coord.Grant
			if next, err = p.Renew(ctx, g, tickNow()+horizon+int64(rand.IntN(9000))); err == nil {
				g = next
			}
			p.Lost(g)
			p.Outage(g)
		}
	}
	if rand.IntN(2) == 0 {
		_ = p.Release(ctx, g, g.NotBefore)
	}
}

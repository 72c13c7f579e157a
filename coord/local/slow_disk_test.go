package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/filesys"
)

// TestSlowDisk: a disk that needs 0.7 s for each record, a quarter of the window, makes no generator refuse an ID.
func TestSlowDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sys = slowDisk(700 * time.Millisecond)
		g, err := core.New(t.Context(), r.start().Coordinator, core.Config{Clock: present{}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4000 {
			if _, err := g.Next(); err != nil {
				t.Fatalf("after %d IDs: %v", n, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowerDisk: a disk whose every record takes longer than it may until it is said to hang, and less than half of a
// window, serves all the same: what it has stored meanwhile is more than the generator has.
func TestSlowerDisk(t *testing.T) {
	for _, takes := range []time.Duration{900, 1150, 1150, 1300, 1300} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.sys = slowDisk(takes * time.Millisecond)
			g, err := core.New(t.Context(), r.start().Coordinator, core.Config{Clock: present{}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			const tries = 8000
			refused := 0
			for range tries {
				if _, why := g.TryNext(); why != nil {
					refused, err = refused+1, why
				}
				time.Sleep(5 * time.Millisecond)
			}
			if refused > tries/80 {
				t.Errorf("%d ms for each record: %d IDs of %d were refused, the last one because of: %v", int64(takes), refused, tries, err)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // until the last record is written
		})
	}
}

// TestReleaseOnASlowDisk: what one attempt at a release has begun to store, the next one does not begin again.
func TestReleaseOnASlowDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		slow := false
		r.sys = func(s *system) {
			sync := s.sync
			s.sync = func(f *os.File) error {
				if slow {
					time.Sleep(1200 * time.Millisecond) // the disk's
				}
				return sync(f)
			}
		}
		p := r.start()
		g := p.acquire(4)
		p.known()
		slow = true
		var err error
		for range 3 { // as a keeper does
			ctx, cancel := context.WithTimeout(r.Context(), time.Second)
			err = p.Release(ctx, g, g.NotBefore)
			cancel()
			if err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil || p.link.released.Load() != 1 {
			t.Errorf("%v; %d releases were sent", err, p.link.released.Load())
		}
		time.Sleep(time.Minute) // until the last record is written
	})
}

// slowDisk is the seam of a disk that takes so long for each record.
func slowDisk(takes time.Duration) func(*system) {
	var always atomic.Int64
	always.Store(int64(takes))
	return bubbleDisk(&always)
}

// bubbleDisk is the seam of a disk in a bubble: its files are changed at the bubble's times, and each record takes as long as
// takes says, in nanoseconds.
func bubbleDisk(takes *atomic.Int64) func(*system) {
	var changed atomic.Int64
	return func(s *system) {
		write, sync, stamp := s.write, s.sync, s.stamp
		s.write = func(f *os.File, b []byte, at int64) error {
			changed.Store(time.Now().UnixNano())
			return write(f, b, at)
		}
		s.sync = func(f *os.File) error {
			time.Sleep(time.Duration(takes.Load())) // the disk's
			return sync(f)
		}
		s.stamp = func(f *os.File) (filesys.Stamp, bool, error) {
			st, known, err := stamp(f)
			st.Changed = time.Unix(0, changed.Load())
			return st, known, err
		}
	}
}

// TestStartOnASlowDisk: a start whose first deadline is too short for the disk has more time with the next one, and the back
// end is asked with the clock as it is then, not as it was before the disk took its time.
func TestStartOnASlowDisk(t *testing.T) {
	for _, takes := range []time.Duration{2600, 3000, 4000, 5000} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.sys = slowDisk(takes * time.Millisecond)
			p := r.start()
			p.Coordinator.window = 10 * time.Second // longer than a record takes, or the file is given up
			behind := &behind{link: p.link}
			p.Coordinator.inner = behind
			began := time.Now()
			g, err := core.New(t.Context(), p.Coordinator, core.Config{Clock: present{}, StartTimeout: 2 * time.Minute, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatalf("%d ms for each record: %v", int64(takes), err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%d ms for each record: the start took %v", int64(takes), took)
			}
			if behind.most >= staleRequest {
				t.Errorf("%d ms for each record: the back end was asked with a clock that is %v behind", int64(takes), behind.most)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Log(err) // it need not be given back in time
			}
			time.Sleep(time.Minute) // until the last record is written
		})
	}
}

// behind is a link that notes by how much the clock of a request is behind.
type behind struct {
	*link
	most time.Duration
}

func (b *behind) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	b.most = max(b.most, time.Since(time.UnixMicro(req.Scale.Micro(req.Now))))
	return b.link.Acquire(ctx, req)
}

// TestBackEndAnswersOnASlowDisk: who went on while the back end was away has its window renewed when that answers again,
// however short the lease and however slow the disk is with the token that is sent then.
func TestBackEndAnswersOnASlowDisk(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, 3 * time.Second, 15 * time.Second} {
		for _, takes := range []time.Duration{100, 1000, 1400, 1700} {
			inBubble(t, func(t *testing.T, r *rig) {
				var disk atomic.Int64
				r.sys = bubbleDisk(&disk)
				r.left()
				r.away.Store(true)
				p := r.start()
				req := r.request(4)
				req.TTL = ttl
				g, err := p.Acquire(r.ctx(), req)
				if err != nil {
					t.Fatal(err)
				}
				disk.Store(int64(takes * time.Millisecond))
				for n := range 120 {
					r.away.Store(n < 4)
					h, err := p.Renew(r.ctx(), g, tickNow()+horizon)
					switch {
					case errors.Is(err, coord.ErrLeaseLost):
						t.Fatalf("TTL %v, %d ms for each record: %v", ttl, int64(takes), err)
					case err == nil:
						g = h
					}
					if o, ok := p.Outage(g); ok && o.Failing == nil {
						break
					}
					time.Sleep(500 * time.Millisecond)
				}
				if o, ok := p.Outage(g); !ok || o.Failing != nil {
					t.Errorf("TTL %v, %d ms for each record: after a minute the back end has not renewed it: %v", ttl, int64(takes), o.Failing)
				}
				time.Sleep(time.Minute) // until the last record is written
			})
		}
	}
}

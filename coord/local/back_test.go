package local

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestBackWithinAnInterval: after an outage of any length in which nothing was answered, service is
// back within a renewal interval and a second, also for a process that was started meanwhile.
func TestBackWithinAnInterval(t *testing.T) {
	for _, ttl := range []time.Duration{
		3 * time.Second, 15 * time.Second, time.Minute, 10 * time.Minute,
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("TTL %v, restart %t", ttl, restart), func(t *testing.T) {
				t.Parallel()
				for n := range 8 {
					inBubble(t, func(t *testing.T, r *rig) {
						lease := coord.LeaseConfig{TTL: ttl, Horizon: 30 * time.Second}
						p := r.start()
						g := r.generator(p, new(atomic.Int64), lease)
						time.Sleep(20 * time.Second)
						r.silent.Store(true)
						if restart {
							p.kill()
							p = r.start()
							g = r.generator(p, new(atomic.Int64), lease)
						}
						time.Sleep(31*time.Second + time.Duration(n*n*n)*1317*time.Millisecond)
						if _, err := g.TryNext(); err == nil {
							safetytest.Of(t).Error("its window is over, and IDs go on")
						}
						r.silent.Store(false)
						began, most := time.Now(), min(ttl, lease.Horizon)/3+time.Second
						for _, err := g.TryNext(); err != nil; _, err = g.TryNext() {
							if time.Since(began) > most {
								t.Fatalf("%v after an outage: %v", time.Since(began), err)
							}
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
			})
		}
	}
}

// TestRestartOnASlowBackEnd: a back end whose answers take less than a lease serves as without a
// file.
func TestRestartOnASlowBackEnd(t *testing.T) {
	lease := coord.LeaseConfig{TTL: 3 * time.Second, Horizon: 6 * time.Second}
	for _, idle := range []time.Duration{time.Minute, 0} { // the window in the file is over, or not
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.start()
			r.generator(p, new(atomic.Int64), lease)
			for range 3 {
				time.Sleep(30 * time.Second)
				p.kill()
				r.slow.Store(int64(2 * time.Second))
				time.Sleep(idle)
				p = r.start()
				g := r.generator(p, new(atomic.Int64), lease)
				time.Sleep(30 * time.Second)
				for range 100 {
					if _, err := g.Next(); err != nil {
						t.Fatalf("30 s after a restart, while each answer takes 2 s: %v", err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	// Without an answer, the caller's time does for the window in the file, too.
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		r.silent.Store(true)
		r.disk.takes.Store(int64(10 * time.Millisecond))
		ctx, cancel := context.WithTimeout(t.Context(), DiskTimeout/2)
		defer cancel()
		h, err := r.start().Acquire(ctx, r.request(4))
		if err != nil {
			t.Fatal(err)
		}
		r.follows(h, g)
	})
}

// TestClockBehindOnASlowBackEnd: with a clock far behind the mark, another worker ID is leased,
// however long the back end takes to answer, as the window in the file would open an hour later;
// also if it does not answer at first.
func TestClockBehindOnASlowBackEnd(t *testing.T) {
	for _, away := range []time.Duration{0, time.Minute} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.space(6 * time.Hour)
			lease := coord.LeaseConfig{Horizon: 6 * time.Hour}
			var step atomic.Int64
			p := r.start()
			g := r.generator(p, &step, lease)
			had := g.Health().Workers[0].WorkerID
			step.Store(int64(time.Hour))
			time.Sleep(5 * time.Second)
			if e := r.stored()[0]; e.Mark < tickNow()+3_000_000 {
				t.Fatalf("the mark is %d", e.Mark)
			}
			p.kill()
			step.Store(0)
			r.slow.Store(int64(2 * time.Second))
			if away > 0 {
				r.away.Store(true)
				time.AfterFunc(away, func() { r.away.Store(false) })
			}
			g = r.generator(r.start(), &step, lease)
			if _, err := g.Next(); err != nil || g.Health().Workers[0].WorkerID == had {
				t.Errorf("%v, %+v", err, g.Health().Workers)
			}
		})
	}
}

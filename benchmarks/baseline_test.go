package benchmarks

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/benchtest"
)

// sink keeps what would otherwise be thrown away.
var sink int64

// BenchmarkBaseline is what the parts of a generator cost alone.
func BenchmarkBaseline(b *testing.B) {
	system, coarse := clock.System(), clock.Coarse()
	loops := []struct {
		what string
		run  func()
	}{
		{"clock.System", func() { system.UnixMicro() }},
		{"clock.Fresh", func() { clock.Fresh(system) }},
		{"clock.Coarse", func() { coarse.UnixMicro() }},
		{"time.Now", func() { sink = time.Now().UnixMicro() }},
	}
	for _, l := range loops {
		b.Run("what="+l.what, func(b *testing.B) {
			for b.Loop() {
				l.run()
			}
		})
	}
	for _, n := range []int{1, 2} {
		name := map[int]string{1: "/goroutines=1", 2: "/goroutines=2"}[n]
		b.Run("what=cas"+name, func(b *testing.B) {
			var word atomic.Uint64
			benchtest.Share(b, n, 1, func(calls int) {
				for calls > 0 {
					if old := word.Load(); word.CompareAndSwap(old, old+1) {
						calls--
					}
				}
			})
		})
		b.Run("what=add"+name, func(b *testing.B) {
			var word atomic.Uint64
			benchtest.Share(b, n, 1, func(calls int) {
				for range calls {
					word.Add(1)
				}
			})
		})
		b.Run("what=mutex"+name, func(b *testing.B) {
			var mu sync.Mutex
			word := 0
			benchtest.Share(b, n, 1, func(calls int) {
				for range calls {
					mu.Lock()
					word++
					mu.Unlock()
				}
			})
		})
	}
	b.Run("what=fill1000", func(b *testing.B) {
		dst, first := make([]core.ID, 1000), core.ID(0)
		for b.Loop() {
			for i := range dst {
				dst[i] = first + core.ID(i)
			}
			first++
		}
	})
}

// spin counts up to the default layout's ceiling and waits for the clock, with
// nothing else to do.
func spin(b *testing.B) {
	layout := core.DefaultLayout()
	c, scale := clock.System(), clock.Scale{
		Epoch: layout.Epoch.UnixMicro(),
		Unit:  layout.Unit.Microseconds(),
	}
	last := int64(layout.SequencesPerTick()) - 1
	var tick, sequence int64
	for b.Loop() {
		for {
			if now := scale.Tick(c.UnixMicro()); now != tick {
				tick, sequence = now, 0
				break
			}
			if sequence < last {
				sequence++
				break
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/ceiling(layout), "ceiling")
}

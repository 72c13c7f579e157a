package benchmarks

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// BenchmarkCeiling asks for IDs of the default layout as fast as they come, which is
// 4096 a millisecond. Its baseline is a loop that does nothing but read the same
// clock and count up to the same ceiling.
//
// A long run is what counts: with -benchtime 5s it lasts for 5000 ticks.
func BenchmarkCeiling(b *testing.B) {
	layout := core.DefaultLayout()
	ceiling := float64(layout.SequencesPerTick()) / layout.Unit.Seconds()
	b.Run("spin", func(b *testing.B) {
		c, scale := clock.System(), clock.Scale{Epoch: layout.Epoch.UnixMicro(), Unit: layout.Unit.Microseconds()}
		b.ReportAllocs()
		var tick, seq int64
		for b.Loop() {
			for {
				if now := scale.Tick(c.UnixMicro()); now != tick {
					tick, seq = now, 0
					break
				}
				if seq < int64(layout.SequencesPerTick())-1 {
					seq++
					break
				}
			}
		}
		report(b, ceiling)
	})
	for _, lead := range []time.Duration{0, 5 * time.Millisecond} {
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("Next/lead=%v/goroutines=%d", lead, goroutines), func(b *testing.B) {
				g := coretest.NewWith(b, core.Config{Layout: layout, Clock: clock.System(), Lead: lead})
				b.ReportAllocs()
				share(b, goroutines, func() error { _, err := g.Next(); return err })
				report(b, ceiling)
			})
		}
	}
}

// share divides b.N calls between goroutines in small portions.
func share(b *testing.B, goroutines int, f func() error) {
	b.Helper()
	const portion = 64
	var taken atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		all.Go(func() {
			for {
				from := taken.Add(portion) - portion
				if from >= int64(b.N) {
					return
				}
				for range min(portion, int64(b.N)-from) {
					if err := f(); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
}

// report adds the rate, and its share of the ceiling.
func report(b *testing.B, ceiling float64) {
	b.Helper()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "ids/s")
	b.ReportMetric(rate/ceiling, "ceiling")
}

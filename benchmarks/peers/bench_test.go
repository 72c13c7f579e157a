package peers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/benchtest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestUnique: whatever is measured here makes unique IDs, from several goroutines.
func TestUnique(t *testing.T) {
	const goroutines, each = 4, 50_000
	for _, p := range peers {
		for _, l := range []core.Layout{wide, regular} {
			t.Run(p.name+"/"+l.String(), func(t *testing.T) {
				g := p.make(t, l)
				made := make([][]string, goroutines)
				var all sync.WaitGroup
				for i := range made {
					all.Go(func() {
						for range each {
							made[i] = append(made[i], g.text())
						}
					})
				}
				all.Wait()
				seen := make(map[string]bool, goroutines*each)
				for _, ids := range made {
					for _, id := range ids {
						if seen[id] {
							safetytest.Of(t).Fatalf("%s came twice", id)
						}
						seen[id] = true
					}
				}
			})
			if !p.layouts {
				break
			}
		}
	}
}

// BenchmarkNext is the time of one ID. In the layout 41-4-18 the code is the limit; in
// 41-10-12 the layout is, with 244 ns for everybody.
func BenchmarkNext(b *testing.B) {
	for _, l := range []core.Layout{wide, regular} {
		for _, p := range peers {
			if !p.layouts && l != wide {
				continue
			}
			name := "any"
			if p.layouts {
				name = fmt.Sprintf("%d-%d-%d", l.TimeBits, l.WorkerBits, l.SequenceBits)
			}
			for _, n := range []int{1, 2, 4, 8} {
				if l == regular && n > 2 {
					continue
				}
				b.Run(fmt.Sprintf("layout=%s/gen=%s/goroutines=%d", name, p.name, n), func(b *testing.B) {
					benchtest.Share(b, n, 1, p.make(b, l).spend)
				})
			}
		}
	}
}

// BenchmarkSaturated asks for more IDs than the default layout has. The rate is the
// layout's; what differs is the processor time that it takes.
func BenchmarkSaturated(b *testing.B) {
	b.Run("gen=bwmarrin", func(b *testing.B) {
		benchtest.Share(b, 1, 1, bwmarrin.make(b, regular).spend)
	})
	b.Run("gen=sonyflake", func(b *testing.B) {
		benchtest.Share(b, 1, 1, sonyflakePeer.make(b, regular).spend)
	})
	b.Run("gen=unalike/lead=0s", func(b *testing.B) {
		benchtest.Share(b, 1, 1, unalikeSystem.make(b, regular).spend)
	})
	b.Run("gen=unalike/lead=5ms", func(b *testing.B) {
		benchtest.Share(b, 1, 1, oursAhead(b, regular).spend)
	})
}

// BenchmarkStripes asks a generator with several worker IDs for more than one worker
// ID has.
func BenchmarkStripes(b *testing.B) {
	for _, stripes := range []int{1, 2} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("stripes=%d/goroutines=%d", stripes, n), func(b *testing.B) {
				benchtest.Share(b, n, 1, ours(b, core.Config{
					Layout: regular, Clock: clock.System(),
					Stripes: stripes,
				}).spend)
			})
		}
	}
}

// BenchmarkWideStripes asks generators with one worker ID and with two, where no ceiling is
// in the way: what a choice of stripe costs, and what it gains.
func BenchmarkWideStripes(b *testing.B) {
	for _, c := range []struct {
		name  string
		clock clock.Clock
	}{{"system", clock.System()}, {"coarse", clock.Coarse()}} {
		for _, stripes := range []int{1, 2} {
			for _, n := range []int{1, 2} {
				b.Run(fmt.Sprintf("clock=%s/stripes=%d/goroutines=%d", c.name, stripes, n), func(b *testing.B) {
					benchtest.Share(b, n, 1, ours(b,
						core.Config{Layout: wide, Clock: c.clock, Stripes: stripes}).spend)
				})
			}
		}
	}
}

// BenchmarkFill fills a slice of 1000 IDs, and, as a baseline, with numbers that count
// up. The time is that of one ID.
func BenchmarkFill(b *testing.B) {
	dst := make([]core.ID, 1000)
	perID := func(b *testing.B) {
		b.Helper()
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/id")
	}
	b.Run("gen=loop", func(b *testing.B) {
		b.ReportAllocs()
		base := core.ID(0)
		for b.Loop() {
			for i := range dst {
				dst[i] = base + core.ID(i)
			}
			base++
		}
		perID(b)
	})
	b.Run("gen=unalike", func(b *testing.B) {
		g := coretest.NewWith(b, core.Config{Layout: layout(41, 1, 21), Clock: clock.System()})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Fill(context.Background(), dst); err != nil {
				b.Fatal(err)
			}
		}
		perID(b)
	})
}

// BenchmarkCeilingFill takes all IDs of the default layout, a millisecond's with each call. What
// differs is the processor time, of which cores is the share of the time that passes.
func BenchmarkCeilingFill(b *testing.B) { ceilingFill(b) }

// BenchmarkBusyCeilingFill is the same where two other processes want the processors.
func BenchmarkBusyCeilingFill(b *testing.B) {
	beside(b, 2)
	ceilingFill(b)
}

func ceilingFill(b *testing.B) {
	b.Helper()
	g := coretest.NewWith(b, core.Config{Layout: regular, Clock: clock.System()})
	dst := make([]core.ID, regular.SequencesPerTick())
	benchtest.Share(b, 1, len(dst), func(calls int) {
		for range calls {
			if _, err := g.Fill(context.Background(), dst); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkLatency asks for one ID every 488 ns, which is half of what the default
// layout has, and measures from the moment at which each was due, so that a call which
// takes long counts for those that had to wait for it as well. A run has half a
// million IDs at the least.
func BenchmarkLatency(b *testing.B) {
	latency(b, unalikeSystem, unalikeCoarse, bwmarrin, sonyflakePeer)
}

// BenchmarkBusyLatency is the same where two other processes want the processors.
func BenchmarkBusyLatency(b *testing.B) {
	beside(b, 2)
	latency(b, unalikeSystem, bwmarrin)
}

func latency(b *testing.B, of ...peer) {
	b.Helper()
	for _, p := range of {
		b.Run("gen="+p.name, func(b *testing.B) { latencyOf(b, p.make(b, regular).spend) })
	}
}

func latencyOf(b *testing.B, spend func(n int)) {
	b.Helper()
	const every = 488 * time.Nanosecond
	h := hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
	b.ResetTimer()
	start := time.Now()
	for i := range b.N {
		due := time.Duration(i) * every
		for time.Since(start) < due {
		}
		spend(1)
		if err := h.RecordValue(max(1, (time.Since(start) - due).Nanoseconds())); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	for name, q := range map[string]float64{"p50-ns": 50, "p99-ns": 99, "p99.9-ns": 99.9} {
		b.ReportMetric(float64(h.ValueAtPercentile(q)), name)
	}
}

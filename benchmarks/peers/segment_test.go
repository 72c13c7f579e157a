package peers

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/benchtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// sequence is one of ours, whose store is in memory. A segment has a million numbers, so that refills are part of it.
func sequence(tb testing.TB, c segment.Config) *segment.Sequence {
	tb.Helper()
	store := segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: segment.DefaultMaxStep})
	s, err := segment.New(context.Background(), store, "t", c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// BenchmarkSegmentNext is a number of a segment beside what it cannot do without: an atomic add.
func BenchmarkSegmentNext(b *testing.B) {
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("gen=unalike/goroutines=%d", goroutines), func(b *testing.B) {
			s := sequence(b, segment.Config{})
			benchtest.Share(b, goroutines, 1, func(calls int) {
				for range calls {
					if _, err := s.Next(); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("gen=add/goroutines=%d", goroutines), func(b *testing.B) {
			var word atomic.Int64
			benchtest.Share(b, goroutines, 1, func(calls int) {
				for range calls {
					word.Add(1)
				}
			})
		})
	}
}

// BenchmarkSegmentFill is a thousand numbers beside a plain loop.
func BenchmarkSegmentFill(b *testing.B) {
	const n = 1000
	b.Run("gen=unalike", func(b *testing.B) {
		s, dst := sequence(b, segment.Config{}), make([]int64, n)
		benchtest.Share(b, 1, n, func(calls int) {
			for range calls {
				if _, err := s.Fill(context.Background(), dst); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/id")
	})
	b.Run("gen=loop", func(b *testing.B) {
		dst, first := make([]int64, n), int64(0)
		benchtest.Share(b, 1, n, func(calls int) {
			for range calls {
				for i := range dst {
					dst[i] = first + int64(i)
				}
				first++
			}
		})
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/id")
	})
}

// BenchmarkSegmentLatency is which share of calls is done within a millisecond, at a million a second across 20 refills, and
// without any.
func BenchmarkSegmentLatency(b *testing.B) {
	const calls, refills = 1_000_000, 20
	for name, step := range map[string]int64{"gen=unalike": calls / refills, "gen=unalike/refills=0": 10 * calls} {
		b.Run(name, func(b *testing.B) {
			s := sequence(b, segment.Config{Step: step, MaxStep: step})
			late := 0
			for b.Loop() {
				began := time.Now()
				for i := range calls {
					due := began.Add(time.Duration(i) * time.Microsecond)
					for time.Now().Before(due) {
					}
					from := time.Now()
					if _, err := s.Next(); err != nil {
						b.Fatal(err)
					}
					if time.Since(from) > time.Millisecond {
						late++
					}
				}
			}
			b.ReportMetric(1-float64(late)/float64(b.N*calls), "on-time")
		})
	}
}

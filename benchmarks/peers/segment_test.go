package peers

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/benchtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// sequence is one of ours, whose store is in memory. A segment has a million numbers, so that
// refills are part of it.
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

// places is how many words in memory two goroutines use in turn. What it costs to hand a word from
// one processor to the other depends on its address, by a quarter and more: with one word for each
// of those that are compared, that would be the result.
const places = 64

// word is one that shares no cache line with others.
type word struct {
	n atomic.Int64
	_ [248]byte
}

// BenchmarkSegmentNext is a number of a segment beside what it cannot do without: an atomic add.
func BenchmarkSegmentNext(b *testing.B) {
	b.Run("gen=unalike/goroutines=1", func(b *testing.B) {
		s := sequence(b, segment.Config{})
		benchtest.Share(b, 1, 1, func(calls int) { next(b, s, calls) })
	})
	b.Run("gen=add/goroutines=1", func(b *testing.B) {
		w := new(word)
		benchtest.Share(b, 1, 1, func(calls int) { w.add(calls) })
	})
	b.Run("gen=unalike/goroutines=2", func(b *testing.B) {
		var all []*segment.Sequence
		for range places {
			all = append(all, sequence(b, segment.Config{}))
		}
		var turns atomic.Int64
		together(b, func(calls int) { next(b, all[place(&turns)], calls) })
	})
	b.Run("gen=add/goroutines=2", func(b *testing.B) {
		var all []*word
		for range places {
			all = append(all, new(word))
		}
		var turns atomic.Int64
		together(b, func(calls int) { all[place(&turns)].add(calls) })
	})
}

// place is the same for both goroutines of a turn, which call it once each.
func place(turns *atomic.Int64) int64 { return (turns.Add(1) - 1) / 2 % places }

// next takes numbers.
func next(b *testing.B, s *segment.Sequence, calls int) { //nolint:thelper // it is what is measured
	for range calls {
		if _, err := s.Next(); err != nil {
			b.Error(err)
		}
	}
}

// add adds to a word.
func (w *word) add(calls int) {
	for range calls {
		w.n.Add(1)
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

// BenchmarkSegmentLatency is which share of calls is done within a millisecond, at a million a
// second across 20 refills, and without any.
func BenchmarkSegmentLatency(b *testing.B) {
	const calls, refills = 1_000_000, 20
	for name, step := range map[string]int64{
		"gen=unalike": calls / refills, "gen=unalike/refills=0": 10 * calls,
	} {
		b.Run(name, func(b *testing.B) {
			s := sequence(b, segment.Config{Step: step, MaxStep: step})
			overdue := 0
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
						overdue++
					}
				}
			}
			b.ReportMetric(1-float64(overdue)/float64(b.N*calls), "on-time")
		})
	}
}

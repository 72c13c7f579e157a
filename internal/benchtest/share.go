// Package benchtest has what the benchmarks of this project share: work that is
// divided between goroutines, and the processor time that it takes.
package benchtest

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Share divides b.N calls between goroutines in small portions, and reports the rate, the
// processor time of an ID, for calls that make n IDs each, and that time's share of the time
// that passes, as a number of cores. f makes as many calls as
// it is asked for: the loop is the caller's, so that nothing but what is measured lies
// between two calls.
func Share(b *testing.B, goroutines, n int, f func(calls int)) {
	b.Helper()
	const portion = 256
	var taken atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	before := CPUTime()
	b.ResetTimer()
	for range goroutines {
		all.Go(func() {
			for {
				from := int(taken.Add(portion)) - portion
				if from >= b.N {
					return
				}
				f(min(portion, b.N-from))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	ids := float64(b.N * n)
	b.ReportMetric(ids/b.Elapsed().Seconds(), "ids/s")
	if after := CPUTime(); after > 0 {
		b.ReportMetric(float64(after-before)/ids, "cpu-ns/id")
		b.ReportMetric(float64(after-before)/float64(b.Elapsed()), "cores")
	}
}

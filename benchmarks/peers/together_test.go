package peers

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// turnCalls is how many calls a goroutine makes in a turn: some ten microseconds, much less than
	// what the system gives to a thread at a time.
	turnCalls = 2000
	// leastTurns is from how many turns a median is taken.
	leastTurns = 20
	// mostTurns is how many turns there are for each one that is wanted, on a machine that is busy.
	mostTurns = 200
)

// turn is when each of two goroutines has begun and ended.
type turn struct{ from, to [2]time.Time }

// together reports whether both ran at the same time.
func (t turn) together() bool {
	took := t.to[0].Sub(t.from[0])
	return t.from[1].Sub(t.from[0]).Abs() < took/10 && t.to[1].Sub(t.to[0]).Abs() < took/4
}

// took is how long both took.
func (t turn) took() time.Duration {
	first := slices.MinFunc(t.from[:], time.Time.Compare)
	return slices.MaxFunc(t.to[:], time.Time.Compare).Sub(first)
}

// together measures calls that two goroutines make at the same time, in turns that both begin
// together. On a machine that is busy with other things one of them mostly waits for a processor,
// and calls that meet nobody are not what is asked about: turns in which they did not run at the
// same time are left out and made again. It reports the median of the others as ns/op, and what all
// turns allocate. f makes as many calls as it is asked for.
func together(b *testing.B, f func(calls int)) {
	b.Helper()
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("two goroutines cannot run at the same time on one processor")
	}
	wanted := max(b.N/(2*turnCalls), leastTurns)
	var met []time.Duration
	var arrived, left atomic.Int64
	var end atomic.Bool
	var now turn
	var both sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for g := range 2 {
		both.Go(func() {
			runtime.LockOSThread() // so that the system gives each a processor
			defer runtime.UnlockOSThread()
			for n := int64(1); !end.Load(); n++ {
				meet(&arrived, 2*n)
				now.from[g] = time.Now()
				f(turnCalls)
				now.to[g] = time.Now()
				meet(&left, 4*n-2)
				if g == 0 {
					if now.together() {
						met = append(met, now.took())
					}
					end.Store(len(met) >= wanted || n >= int64(wanted)*mostTurns)
				}
				meet(&left, 4*n)
			}
		})
	}
	both.Wait()
	b.StopTimer()
	runtime.ReadMemStats(&after)
	if len(met) < leastTurns {
		b.Skipf("two goroutines ran at the same time in %d turns; at least %d are needed: is this "+
			"machine busy, or has it one processor?", len(met), leastTurns)
	}
	slices.Sort(met)
	b.ReportMetric(float64(met[len(met)/2].Nanoseconds())/(2*turnCalls), "ns/op")
	calls := uint64(arrived.Load()) * turnCalls // of all turns, and not b.N
	b.ReportMetric(float64((after.Mallocs-before.Mallocs)/calls), "allocs/op")
	b.ReportMetric(float64((after.TotalAlloc-before.TotalAlloc)/calls), "B/op")
}

// meet adds to a counter and waits until it is at n.
func meet(counter *atomic.Int64, n int64) {
	counter.Add(1)
	for counter.Load() < n {
	}
}

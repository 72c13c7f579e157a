package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// coarseInterval is how often the cached reading is renewed. Timers of the Go
	// runtime are about a millisecond coarse on an idle machine, so asking for
	// less would not give less.
	coarseInterval = 500 * time.Microsecond

	// coarseIdleTicks is how many ticks in a row nobody may have read the clock
	// before the background tick ends: about 50 ms.
	coarseIdleTicks = 64
)

// Coarse returns a clock whose reading is cached and renewed by a background
// tick about once a millisecond, and less often when the scheduler is busy. A
// reading costs a memory load and does not allocate or block.
//
// The tick runs only while somebody reads the clock and ends by itself within a
// fraction of a second after the last reading, so an idle program pays nothing
// and there is nothing to close. All Coarse clocks of a process share one tick.
// Steps of the wall clock show at the next tick. It implements [Fresher]: a
// generator that has spent its sequence never waits on a stale reading.
func Coarse() Clock { return coarse{} }

type coarse struct{}

// ticker is the shared state behind every Coarse clock. Readers only load the
// cached value and, once per idle check, set used; the tick writes both, so one
// cache line is right for them.
var ticker struct {
	_      [64]byte
	cached atomic.Int64 // microseconds since 1970; 0 while no tick is running
	used   atomic.Bool  // somebody has read since the last tick looked
	_      [64]byte
	start  sync.Mutex
}

func (coarse) UnixMicro() int64 {
	v := ticker.cached.Load()
	if v == 0 {
		return startTicker()
	}
	if !ticker.used.Load() {
		ticker.used.Store(true)
	}
	return v
}

// FreshUnixMicro reads the system's wall clock and moves the cached reading
// forward, so that callers after this one need not ask again.
func (coarse) FreshUnixMicro() int64 { return moveOn(wallMicro) }

// moveOn returns a reading taken with read, and moves the cached one forward to it.
func moveOn(read func() int64) int64 {
	v := ticker.cached.Load()
	now := read()
	if v != 0 && now > v {
		// Forward only, and only over the value seen before the reading: a slow
		// caller must not put an old reading over a newer one, nor any over the 0 of a
		// tick that has ended, which would stay for ever. A step backward is left to the
		// tick.
		ticker.cached.CompareAndSwap(v, now) //mutant:coarse-forward
	}
	return now
}

// String names the clock in logs and errors.
func (coarse) String() string { return "coarse" }

// startTicker starts the background tick unless it runs, and returns a reading.
func startTicker() int64 {
	now := wallMicro()
	ticker.start.Lock()
	defer ticker.start.Unlock()
	if ticker.cached.Load() == 0 && now != 0 {
		ticker.used.Store(true)
		ticker.cached.Store(now)
		go runTicker()
	}
	return now
}

// runTicker renews the cached reading until nobody has read it for a while.
func runTicker() {
	for idle := 0; idle < coarseIdleTicks; idle++ {
		time.Sleep(coarseInterval)
		ticker.cached.Store(wallMicro())
		if ticker.used.Load() {
			ticker.used.Store(false)
			idle = 0
		}
	}
	// From here on readers see that no tick runs and take a reading of their own.
	ticker.start.Lock()
	ticker.cached.Store(0)
	ticker.start.Unlock()
}

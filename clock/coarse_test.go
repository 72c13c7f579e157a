package clock

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f in a bubble in which no tick runs yet, so that the one that f
// starts sleeps in the bubble's time and nothing here depends on the machine's.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	// A tick that an earlier test has started ends by itself, if Coarse does what it
	// says.
	for deadline := time.Now().Add(30 * time.Second); ticker.cached.Load() != 0; time.Sleep(
		time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the tick of an idle clock has not ended for 30s")
		}
	}
	synctest.Test(t, f)
}

// idle is how long a tick runs at most after the last reading.
const idle = (2*coarseIdleTicks + 1) * coarseInterval

func TestCoarseEndsWhenIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := Coarse()
		if c.UnixMicro() == 0 || ticker.cached.Load() == 0 {
			t.Fatal("a reading starts no tick")
		}
		// While it is read it goes on.
		for range 10 * coarseIdleTicks {
			time.Sleep(coarseInterval * coarseIdleTicks / 2)
			if ticker.cached.Load() == 0 {
				t.Fatal("the tick has ended though the clock is read")
			}
			c.UnixMicro()
		}
		time.Sleep(idle)
		if ticker.cached.Load() != 0 {
			t.Fatalf("the tick still runs %v after the last reading", idle)
		}
		// It can start again. That its goroutine has ended as well the bubble sees to,
		// which otherwise would not.
		if c.UnixMicro() == 0 || ticker.cached.Load() == 0 {
			t.Fatal("a reading after an idle time starts no tick")
		}
		time.Sleep(idle)
		if ticker.cached.Load() != 0 {
			t.Fatal("the second tick does not end")
		}
	})
}

// TestCoarseFreshDoesNotKeepTheTick: only cached readings need it.
func TestCoarseFreshDoesNotKeepTheTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		Coarse().UnixMicro()
		for range 2 * coarseIdleTicks {
			time.Sleep(coarseInterval)
			Fresh(Coarse())
		}
		synctest.Wait()
		if ticker.cached.Load() != 0 {
			t.Error("fresh readings keep the tick running, or start it")
		}
	})
}

func TestCoarseIsCached(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := Coarse()
		c.UnixMicro()
		const stale = 12345
		ticker.cached.Store(stale)
		if got := c.UnixMicro(); got != stale {
			t.Errorf("a reading is %d; want the cached %d", got, stale)
		}
		time.Sleep(coarseInterval)
		synctest.Wait()
		if got := c.UnixMicro(); got == stale {
			t.Error("the tick has passed and the reading is stale still")
		}
		time.Sleep(idle)
	})
}

// TestCoarseFreshMovesTheCache: forward only, so that one reader's wait for the
// next tick serves all.
func TestCoarseFreshMovesTheCache(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := Coarse()
		c.UnixMicro()
		ticker.cached.Store(1)
		now := Fresh(c)
		if got := c.UnixMicro(); got != now {
			t.Errorf("after a fresh reading of %d the clock reads %d", now, got)
		}
		ahead := now + time.Hour.Microseconds()
		ticker.cached.Store(ahead)
		if got := Fresh(c); got >= ahead {
			t.Errorf("a fresh reading is %d, which is the cached one", got)
		}
		if got := c.UnixMicro(); got != ahead {
			t.Errorf("a fresh reading moved the clock back from %d to %d; that is the tick's to do", ahead,
				got)
		}
		time.Sleep(coarseInterval)
		synctest.Wait()
		if got := c.UnixMicro(); got >= ahead {
			t.Errorf("the tick has not followed the clock back: %d", got)
		}
		time.Sleep(idle)
	})
}

// TestCoarseFreshOfASlowCaller: what happened to the cache between its two looks is not
// undone.
func TestCoarseFreshOfASlowCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		Coarse().UnixMicro()
		for _, tt := range []struct {
			name      string
			meanwhile int64
		}{{"somebody has stored a newer reading", 30}, {"the tick has ended", 0}} {
			ticker.cached.Store(10)
			now := moveOn(func() int64 {
				ticker.cached.Store(tt.meanwhile)
				return 20
			})
			if got := ticker.cached.Load(); now != 20 || got != tt.meanwhile {
				t.Errorf("%s: the cache holds %d after a reading of %d, want %d", tt.name, got, now,
					tt.meanwhile)
			}
		}
		time.Sleep(idle)
	})
}

// TestCoarseConcurrently is for the race detector, with ticks that end and start.
func TestCoarseConcurrently(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := Coarse()
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 50 {
					if c.UnixMicro() == 0 || Fresh(c) == 0 {
						t.Error("a reading is 0")
					}
					time.Sleep(time.Duration(i+1) * idle / 3)
				}
			})
		}
		wg.Wait()
		time.Sleep(idle)
	})
}

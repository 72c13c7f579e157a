package client_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// hammer calls Next for as long as that, all the time, and returns how many calls there were.
func hammer(c *client.Client, d time.Duration) (calls int) {
	for start := time.Now(); time.Since(start) < d; time.Sleep(time.Millisecond) {
		_, _ = c.Next()
		calls++
	}
	return calls
}

// TestRefusedRests: a refusal is remembered: however often a client is called, it asks twice a
// second at most, and has IDs soon after it is not refused any more.
func TestRefusedRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
		})
		all := network{"a": refuses}
		c := all.client(t, client.Options{}, "a")
		for range 5 {
			asked.Store(0)
			calls := hammer(c, time.Second)
			if n := asked.Load(); n > 2 || n < 1 || calls < 100 {
				t.Errorf("%d requests in a second for %d calls", n, calls)
			}
		}
		if _, err := c.Next(); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%v", err)
		}
		all["a"] = newStub(1, "n")
		time.Sleep(time.Second)
		if _, err := c.Next(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestRetryAfter: a server is left alone for as long as it says, 30 s at most, and another one is
// asked.
func TestRetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			later := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(status)
			})
			all := network{"a": later, "b": newStub(1, "n")}
			single := all.client(t, client.Options{}, "a")
			hammer(single, 25*time.Second)
			if n := asked.Load(); n != 1 {
				t.Errorf("%d: %d requests in 25 s to a server that said Retry-After: 60", status, n)
			}
			hammer(single, 10*time.Second)
			if n := asked.Load(); n != 2 {
				t.Errorf("%d: %d requests in 35 s, want 2", status, n)
			}
			if _, err := single.Next(); !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("%d: %v", status, err)
			}
			both := all.client(t, client.Options{}, "a", "b")
			begun := time.Now()
			if _, err := both.Next(); err != nil || time.Since(begun) > 0 {
				t.Errorf("%d: the other server: %v after %v", status, err, time.Since(begun))
			}
		})
	}
}

// TestSlowCaller: whoever needs few IDs takes few, and whoever needs many has them soon.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{stub: newStub(1, "n"), most: 10_000}
		c := network{"a": s}.client(t, client.Options{}, "a")
		take(t, c, 10, 1500*time.Millisecond)
		total := uint32(0)
		for _, n := range s.counts() {
			total += n
		}
		if total > 100 {
			t.Errorf("10 slow calls took %d IDs", total)
		}
		take(t, c, 20_000, 0)
		if got := s.counts(); len(got) > 15 || got[len(got)-1] < client.DefaultPrefetch {
			t.Errorf("20,000 at once: %v", got)
		}
	})
}

// TestSpread: clients that start at a time ask different servers first.
func TestSpread(t *testing.T) {
	a, b := two(t)
	for range 20 {
		c, err := client.New([]string{a.URL, b.URL}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	if na, nb := a.requests.Load(), b.requests.Load(); na < 5 || nb < 5 {
		t.Errorf("20 clients asked %d and %d times", na, nb)
	}
}

// TestTookLong: a reply that was under way while the machine was frozen is not used.
func TestTookLong(t *testing.T) {
	wall, s, froze := new(movedClock), newStub(1, "n"), false
	c := network{"a": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !froze {
			froze = true
			wall.Add(3 * time.Second.Microseconds())
		}
		s.ServeHTTP(w, r)
	})}.client(t, client.Options{}, "a")
	c.SetClock(wall)
	id, err := c.Next()
	if err != nil || id <= 64 { // those were in the reply that took long
		safetytest.Unless(t, err).Errorf("%v, %v", id, err)
	}
}

// TestFreeze: after a freeze, which no timer notices, nothing of the stock is used that is older
// than MaxAge.
func TestFreeze(t *testing.T) {
	wall := new(movedClock)
	c := network{"a": newStub(1, "n")}.client(t, client.Options{MaxAge: time.Minute}, "a")
	c.SetClock(wall)
	for range 3 {
		before, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if id, err := c.Next(); err != nil || id > before+20 {
			t.Errorf("within MaxAge: %v after %v, %v", id, before, err)
		}
		wall.Add(time.Minute.Microseconds() + 1)
		if id, err := c.Next(); err != nil || id < before+60 && before < 60 || id <= before+2 {
			safetytest.Unless(t, err).Errorf("after a freeze: %v after %v, %v", id, before, err)
		}
	}
}

// movedClock is a clock that a test moves.
type movedClock struct{ atomic.Int64 }

// UnixMicro implements clock.Clock.
func (c *movedClock) UnixMicro() int64 { return 1_800_000_000_000_000 + c.Load() }

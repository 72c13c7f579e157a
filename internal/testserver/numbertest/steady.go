package numbertest

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Server is one that can stand still.
type Server interface {
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)
}

const (
	// steadyHold is the hold of the tests of a steady rate, and steadyRate how many numbers a second are used.
	steadyHold = 2 * time.Second
	steadyRate = 2000
)

// HalfAHold uses numbers at a steady rate, and has the server stand still for half of the hold at different points of a segment: no call waits or fails. What is
// used meanwhile is what half of a hold needs at the rate that the sequence itself has measured, so that a machine that is busy changes nothing.
func HalfAHold(t *testing.T, store Store, server Server, rounds int) {
	if err := store.Create(within(t), segment.Tag{Name: "steady", Next: 1, Step: steadyRate * int64(steadyHold/time.Second)}); err != nil {
		t.Fatal(err)
	}
	s, err := segment.New(within(t), store, "steady", segment.Config{Hold: steadyHold})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	u := &user{s: s}
	// Before the next segment is due, a little after, shortly before the end, and points between these.
	points := []float64{0.45, 0.9, 0.6, 0.1, 0.3, 0.75}
	for round := range rounds {
		h := u.until(t, points[round%len(points)])
		half := int64(h.Rate * steadyHold.Seconds() / 2)
		if h.Left < half+half/20 {
			// It was due at half at the latest, and is under way if it is not there.
			streamtest.Eventually(t, "the next segment is there", func() bool { return s.Health().Next.Len() > 0 })
		}
		server.Freeze(t)
		u.begin()
		for u.used < half {
			if _, err := s.TryNext(); err != nil {
				t.Errorf("with the server frozen when %d of %d were left, number %d of %d: %v", h.Left, h.Present.Len(), u.used+1, half, err)
				break
			}
			u.used++
			u.rest(h.Rate)
		}
		t.Logf("%d numbers in %v", u.used, time.Since(u.began).Round(time.Millisecond))
		server.Thaw(t)
	}
}

// user uses numbers.
type user struct {
	s     *segment.Sequence
	began time.Time
	used  int64
}

// begin begins to count.
func (u *user) begin() { u.began, u.used = time.Now(), 0 }

// rest waits until the next number is to be used at a rate.
func (u *user) rest(rate float64) {
	time.Sleep(time.Until(u.began.Add(time.Duration(float64(u.used) / rate * float64(time.Second)))))
}

// until uses numbers until the rate is known and a part of a segment is used.
func (u *user) until(t *testing.T, part float64) segment.Health {
	t.Helper()
	u.begin()
	for u.used < 100*steadyRate {
		for range 10 {
			if _, err := u.s.Next(); err != nil {
				t.Fatal(err)
			}
			u.used++
		}
		u.rest(steadyRate)
		h := u.s.Health()
		size := h.Present.Len()
		known := h.Rate > steadyRate*0.8 && h.Rate < steadyRate*1.2 && float64(size) > h.Rate*steadyHold.Seconds()*0.8
		if spent := size - (h.Left - max(h.Next.Len(), 0)); known && float64(spent) > part*float64(size) && float64(spent) < (part+0.05)*float64(size) {
			h.Left = size - spent
			return h
		}
	}
	t.Fatal("the rate does not become steady")
	return segment.Health{}
}

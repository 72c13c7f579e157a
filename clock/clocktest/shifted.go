package clocktest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// Shifted is a clock that runs with time.Now, a settable distance away from it.
// A test steps it backward or forward by changing the distance. Because it reads
// time.Now and waits on timers alone, it follows the fake time of a
// testing/synctest bubble. The zero Shifted tells the time of time.Now. It must
// not be copied after first use.
type Shifted struct {
	shift   atomic.Int64 // microseconds ahead of time.Now
	mu      sync.Mutex
	stepped chan struct{} // closed at the next step; nil while nobody waits
}

var _ clock.Alarmer = (*Shifted)(nil)

// NewShifted returns a clock that reads t now and runs on from there.
func NewShifted(t time.Time) *Shifted {
	s := new(Shifted)
	s.shift.Store(t.UnixMicro() - time.Now().UnixMicro())
	return s
}

// UnixMicro returns the reading of time.Now plus the shift.
func (s *Shifted) UnixMicro() int64 { return time.Now().UnixMicro() + s.shift.Load() }

// Time returns the current reading, in UTC.
func (s *Shifted) Time() time.Time { return time.UnixMicro(s.UnixMicro()).UTC() }

// Step moves the clock by d, backward if d is negative, and wakes all who wait
// on it.
func (s *Shifted) Step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift.Add(d.Microseconds())
	if s.stepped != nil {
		close(s.stepped)
		s.stepped = nil
	}
}

// Alarm implements [clock.Alarmer] with a timer that a step cuts short.
func (s *Shifted) Alarm(unixMicro int64) (ring <-chan struct{}, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stepped == nil {
		s.stepped = make(chan struct{})
	}
	wait := min(max(unixMicro-s.UnixMicro(), 0), time.Hour.Microseconds())
	done := make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(done) }) }
	stepped := s.stepped
	t := time.NewTimer(time.Duration(wait) * time.Microsecond)
	go func() {
		defer t.Stop()
		select {
		case <-t.C:
		case <-stepped:
		case <-done:
		}
		end()
	}()
	return done, end
}

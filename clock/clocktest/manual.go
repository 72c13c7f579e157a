package clocktest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// Manual is a clock that stands still until a test moves it, in either
// direction. Whoever waits on it is woken by every move. The zero Manual stands
// at 1970-01-01T00:00:00Z. It must not be copied after first use.
type Manual struct {
	micro atomic.Int64
	mu    sync.Mutex
	moved chan struct{} // closed at the next move; nil while nobody waits
}

var _ clock.Alarmer = (*Manual)(nil)

// NewManual returns a clock that stands at t, cut to whole microseconds.
func NewManual(t time.Time) *Manual {
	m := new(Manual)
	m.micro.Store(t.UnixMicro())
	return m
}

// UnixMicro returns where the clock stands.
func (m *Manual) UnixMicro() int64 { return m.micro.Load() }

// Time returns where the clock stands, in UTC.
func (m *Manual) Time() time.Time { return time.UnixMicro(m.micro.Load()).UTC() }

// Set moves the clock to t, forward or backward, and wakes all who wait on it.
func (m *Manual) Set(t time.Time) { m.move(func(int64) int64 { return t.UnixMicro() }) }

// Advance moves the clock by d, backward if d is negative, and wakes all who
// wait on it.
func (m *Manual) Advance(d time.Duration) {
	m.move(func(now int64) int64 { return now + d.Microseconds() })
}

func (m *Manual) move(f func(int64) int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.micro.Store(f(m.micro.Load()))
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

// Alarm implements [clock.Alarmer]: the channel is closed at the next move, or
// is closed already if the clock stands at unixMicro or later.
func (m *Manual) Alarm(unixMicro int64) (ring <-chan struct{}, stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.micro.Load() >= unixMicro {
		done := make(chan struct{})
		close(done)
		return done, func() {}
	}
	if m.moved == nil {
		m.moved = make(chan struct{})
	}
	return m.moved, func() {}
}

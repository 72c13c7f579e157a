package clock_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// disciplined is a clock whose reading a daemon of the machine publishes now and then.
type disciplined struct{ published atomic.Int64 }

// UnixMicro implements [clock.Clock].
func (c *disciplined) UnixMicro() int64 { return c.published.Load() }

// FreshUnixMicro implements [clock.Fresher].
func (c *disciplined) FreshUnixMicro() int64 { return time.Now().UnixMicro() }

var (
	_ clock.Clock   = (*disciplined)(nil)
	_ clock.Fresher = (*disciplined)(nil)
)

// A clock of one's own has one method, and a second one if its reading may be stale. It goes into
// the field Clock of a generator's configuration.
func ExampleClock() {
	c := new(disciplined)
	start := time.Date(2026, 5, 17, 9, 30, 0, 0, time.UTC)
	c.published.Store(start.UnixMicro())
	inMillis := clock.Scale{Epoch: start.Add(-time.Hour).UnixMicro(), Unit: 1000}
	fmt.Println(inMillis.Tick(c.UnixMicro()), clock.Fresh(c) > c.UnixMicro())
	// Output: 3600000 true
}

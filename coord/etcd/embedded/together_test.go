package embedded

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestKilledTogether: three programs with two worker IDs each are killed, all at once, again and
// again. Every start of each of them succeeds.
func TestKilledTogether(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var slowest time.Duration
	for range fulltest.Rounds(5, 50) {
		var all []*drivertest.Child
		began := time.Now()
		for range 3 {
			all = append(all, startChild(t, dir, "stripes"))
		}
		for _, c := range all {
			c.Line(t)
			slowest = max(slowest, time.Since(began))
		}
		for _, c := range all {
			c.Kill()
		}
	}
	t.Logf("the slowest start took %v", slowest)
}

// TestOneMachineOneClock: one machine has one clock: whatever holders have stored, nobody is
// refused for it.
func TestOneMachineOneClock(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	early, err := New(within(t), dir, "n",
		Options{Clock: clocktest.NewShifted(time.Now().Add(-time.Hour))})
	early = drivertest.Closing(t, early, err)
	for range 3 {
		mustAcquire(t, early, drivertest.At(-time.Hour))
	}
	mustAcquire(t, openFolder(t, dir, "n"), drivertest.At(0))
}

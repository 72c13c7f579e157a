package filestore

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
)

// TestGeneratorOnASlowDisk lets a generator run for three minutes. A disk that is slow all the time, but
// keeps up, costs no ID, and neither does one write that takes three times as long. One that hangs for
// a minute does, and service comes back with it.
func TestGeneratorOnASlowDisk(t *testing.T) {
	for name, tt := range map[string]struct{ delay, hiccup, worst time.Duration }{
		"600 ms and a hiccup": {600 * time.Millisecond, 1800 * time.Millisecond, 0},
		"1000 ms":             {time.Second, 0, 0},
		"hangs for a minute":  {0, time.Minute, 62 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { generateSlowly(t, tt.delay, tt.hiccup, tt.worst) })
		})
	}
}

func generateSlowly(t *testing.T, delay, hiccup, worst time.Duration) {
	t.Helper()
	s := newStore(newPath(t))
	c := newCoordinator(t, s, 3*time.Second)
	layout := core.DefaultLayout()
	layout.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
	g, err := core.New(t.Context(), c, core.Config{Layout: layout, Clock: clocktest.NewShifted(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(context.Background()) }()
	var every, once atomic.Int64
	s.turn <- struct{}{}
	s.disk.sync = func(f *os.File) error {
		time.Sleep(time.Duration(every.Load() + once.Swap(0)))
		return f.Sync()
	}
	<-s.turn
	every.Store(int64(delay))
	const step = 50 * time.Millisecond
	var began time.Time // of the refusals in a row
	var longest time.Duration
	for i := range int(3 * time.Minute / step) {
		if time.Duration(i)*step == time.Minute && hiccup > 0 {
			once.Store(int64(hiccup - delay))
		}
		switch _, err := g.Next(); {
		case err == nil:
			began = time.Time{}
		case began.IsZero():
			began = time.Now()
			fallthrough
		default:
			longest = max(longest, time.Since(began)+step)
		}
		time.Sleep(step)
	}
	t.Logf("no ID for %v at the longest", longest)
	if longest > worst || worst > 0 && longest < worst/2 {
		t.Errorf("no ID for %v; want %v at the most", longest, worst)
	}
	if !began.IsZero() {
		t.Error("service has not come back")
	}
}

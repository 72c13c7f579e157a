package clock

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// readings are all ways to read the wall clock truthfully.
var readings = map[string]func() int64{
	"system":                system{}.UnixMicro,
	"counted.fresh":         counted{}.FreshUnixMicro,
	"Fresh(System)":         func() int64 { return Fresh(System()) },
	"Coarse.FreshUnixMicro": coarse{}.FreshUnixMicro,
	"Fresh(Coarse)":         func() int64 { return Fresh(Coarse()) },
	"wallMicro":             wallMicro,
	"wallPortable":          wallPortable,
}

// TestReadingsAreTrue: a reading lies between two of time.Now.
func TestReadingsAreTrue(t *testing.T) {
	Coarse().UnixMicro() // so that there is something stale to return
	for name, read := range readings {
		for range 1000 {
			before := time.Now().UnixMicro()
			got := read()
			if after := time.Now().UnixMicro(); got < before || got > after {
				t.Fatalf("%s is %d; time.Now was %d before and %d after", name, got, before, after)
			}
		}
	}
}

// TestSystemIsRecent: 2^15 cycles of the slowest counter are 33 us.
func TestSystemIsRecent(t *testing.T) {
	for range 100_000 {
		before := time.Now().UnixMicro()
		got := System().UnixMicro()
		if after := time.Now().UnixMicro(); got < before-33 || got > after {
			t.Fatalf("a reading is %d; time.Now was %d before and %d after", got, before, after)
		}
	}
}

func TestReadingsDoNotAllocate(t *testing.T) {
	readings := maps.Clone(readings)
	readings["System"] = System().UnixMicro
	for name, read := range readings {
		if n := testing.AllocsPerRun(1000, func() { read() }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	c := Coarse()
	c.UnixMicro() // starts the tick, which does
	// A tick that starts anew in between costs a goroutine, far less than once a call.
	if n := testing.AllocsPerRun(1000, func() { c.UnixMicro() }); n != 0 {
		t.Errorf("Coarse allocates %v times", n)
	}
}

func TestNames(t *testing.T) {
	for c, want := range map[Clock]string{System(): "system", Coarse(): "coarse"} {
		if got := fmt.Sprint(c); got != want {
			t.Errorf("a clock is printed as %q; want %q", got, want)
		}
	}
}

// bubble is a clock that neither is Fresher nor Alarmer and runs with time.Now.
type bubble struct{}

func (bubble) UnixMicro() int64 { return time.Now().UnixMicro() }

func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ in, want time.Duration }{
			{-time.Hour, 0},
			{0, 0},
			{time.Microsecond, time.Microsecond},
			{time.Minute, time.Minute},
			{time.Hour, time.Hour},
			{1000 * time.Hour, time.Hour}, // looked at again now and then
		} {
			start := time.Now()
			ring, stop := Alarm(bubble{}, start.Add(tt.in).UnixMicro())
			<-ring
			if got := time.Since(start); got != tt.want {
				t.Errorf("an alarm in %v rang after %v; want %v", tt.in, got, tt.want)
			}
			stop()
			stop()
		}
		ring, stop := Alarm(bubble{}, time.Now().Add(time.Second).UnixMicro())
		stop()
		time.Sleep(time.Minute)
		select {
		case <-ring:
			t.Error("an alarm that was stopped rang")
		default:
		}
	})
}

package clocktest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
)

func rung(ring <-chan struct{}) bool {
	select {
	case <-ring:
		return true
	default:
		return false
	}
}

func TestManual(t *testing.T) {
	var zero Manual
	if zero.UnixMicro() != 0 || !zero.Time().Equal(time.Unix(0, 0)) {
		t.Errorf("the zero Manual stands at %v", zero.Time())
	}
	start := time.Date(2026, 11, 21, 2, 0, 0, 1999, time.UTC)
	m := NewManual(start)
	if want := start.Truncate(time.Microsecond); !m.Time().Equal(want) ||
		m.UnixMicro() != want.UnixMicro() {
		t.Errorf("it stands at %v; want %v", m.Time(), want)
	}
	m.Advance(time.Hour)
	m.Advance(-time.Second)
	if got := m.Time().Sub(start.Truncate(time.Microsecond)); got != time.Hour-time.Second {
		t.Errorf("it was moved by %v; want 59m59s", got)
	}
	m.Set(start.Add(-time.Hour))
	if got := m.Time(); !got.Equal(start.Add(-time.Hour).Truncate(time.Microsecond)) {
		t.Errorf("it was set back to %v", got)
	}
}

func TestManualAlarm(t *testing.T) {
	m := NewManual(time.Unix(1000, 0))
	at := func(d time.Duration) int64 { return time.Unix(1000, 0).Add(d).UnixMicro() }
	for _, d := range []time.Duration{-time.Second, 0} {
		if ring, _ := clock.Alarm(m, at(d)); !rung(ring) {
			t.Errorf("an alarm in %v does not ring", d)
		}
	}
	for _, step := range []time.Duration{time.Second, time.Millisecond, -time.Hour} {
		ring, stop := clock.Alarm(m, m.UnixMicro()+time.Second.Microseconds())
		other, _ := clock.Alarm(m, m.UnixMicro()+time.Hour.Microseconds())
		if rung(ring) {
			t.Fatal("an alarm rings while the clock stands still")
		}
		m.Advance(step)
		if !rung(ring) || !rung(other) {
			t.Errorf("the clock was moved by %v and not all who wait were woken", step)
		}
		stop()
		stop()
	}
}

func TestShifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
		s := NewShifted(start)
		time.Sleep(time.Minute)
		if got := s.Time().Sub(start); got != time.Minute {
			t.Errorf("in a minute it advanced by %v", got)
		}
		s.Step(-time.Hour)
		if got := s.Time().Sub(start); got != time.Minute-time.Hour {
			t.Errorf("stepped back by an hour it reads %v after its start", got)
		}
		var zero Shifted
		if !zero.Time().Equal(time.Now()) {
			t.Errorf("the zero Shifted reads %v at %v", zero.Time(), time.Now())
		}
	})
}

func TestShiftedAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShifted(time.Unix(5000, 0))
		start := time.Now()
		ring, stop := clock.Alarm(s, time.Unix(5060, 0).UnixMicro())
		<-ring
		if got := time.Since(start); got != time.Minute {
			t.Errorf("an alarm in a minute rang after %v", got)
		}
		stop()
		for _, step := range []time.Duration{time.Hour, -time.Hour} {
			ring, stop := clock.Alarm(s, s.UnixMicro()+time.Minute.Microseconds())
			synctest.Wait()
			if rung(ring) {
				t.Fatal("an alarm rings early")
			}
			s.Step(step)
			synctest.Wait()
			if !rung(ring) {
				t.Errorf("the clock was stepped by %v and the alarm did not ring", step)
			}
			stop()
			stop()
		}
		ring, _ = clock.Alarm(s, 0)
		<-ring // in the past

		// What stop leaves behind would keep this bubble from ending.
		_, stop = clock.Alarm(s, s.UnixMicro()+time.Minute.Microseconds())
		stop()
		start = time.Now()
		synctest.Wait()
		if !time.Now().Equal(start) {
			t.Error("an alarm that was stopped lets time pass")
		}
	})
}

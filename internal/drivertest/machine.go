package drivertest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// Machine is the clock of a machine, which a test sets, with the machine's uptime as its witness.
type Machine struct {
	*clocktest.Shifted
	began     time.Time
	suspended atomic.Int64 // nanoseconds
}

// NewMachine returns a machine whose clock is right.
func NewMachine() *Machine {
	return &Machine{Shifted: clocktest.NewShifted(time.Now()), began: time.Now()}
}

// Uptime returns how long the machine has been up.
func (m *Machine) Uptime() time.Duration {
	return time.Since(m.began) + time.Duration(m.suspended.Load())
}

// Suspend lets time pass in which the machine is suspended.
func (m *Machine) Suspend(d time.Duration) {
	m.suspended.Add(int64(d))
	m.Step(d)
}

// Year is by how much clocks are wrong.
const Year = 365 * 24 * time.Hour

// Issuer asks a generator for IDs, and checks them.
type Issuer struct {
	*core.Generator
	last core.ID
}

// Issues asks for IDs for some time, and returns after how long there was the first one; negative:
// there was none. None is dated later than a given time.
func (i *Issuer) Issues(tb testing.TB, d time.Duration, latest time.Time) time.Duration {
	tb.Helper()
	first := time.Duration(-1)
	for began := time.Now(); time.Since(began) < d; time.Sleep(10 * time.Millisecond) {
		id, err := i.Next()
		if err != nil {
			continue
		}
		if first < 0 {
			first = time.Since(began)
		}
		if at := core.DefaultLayout().Decompose(id).Time; at.After(latest) {
			safetytest.Of(tb).Fatalf("an ID is dated %v; the window ended before %v", at, latest)
		}
		if id <= i.last {
			safetytest.Of(tb).Fatalf("after %d came %d", i.last, id)
		}
		i.last = id
	}
	return first
}

// ClocksAhead sets the clocks of five generators a year ahead for a moment. No worker ID is shut
// for a year, no ID is dated beyond the windows of that moment, and all issue again in time.
func ClocksAhead(t *testing.T, url func(namespace string) string) {
	fulltest.Long(t, "clocks are wrong for seconds, and it is waited until all issue again")
	for _, d := range []time.Duration{time.Second, 4 * time.Second} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			at := url("ahead" + d.String())
			machines, all := make([]*Machine, 5), make([]*Issuer, 5)
			var admin coord.AdminCoordinator
			for i := range all {
				machines[i] = NewMachine()
				p := startProcess(t, at, coord.OpenOptions{Clock: machines[i], Logger: quiet},
					core.Config{Clock: machines[i], Logger: quiet})
				t.Cleanup(func() { end([]Process{p}) })
				if err := p.Ready(Within(t)); err != nil {
					t.Fatal(err)
				}
				all[i], admin = &Issuer{Generator: p.Generator}, p.Coordinator.(coord.AdminCoordinator)
			}
			latest := time.Now().Add(31 * time.Second)
			for _, m := range machines {
				m.Step(Year)
			}
			step := time.Now()
			for _, p := range all {
				p.Issues(t, d/10, latest)
			}
			time.Sleep(time.Until(step.Add(d)))
			for _, m := range machines {
				m.Step(-Year)
			}
			back := time.Now()
			for _, p := range all {
				for p.Issues(t, 100*time.Millisecond, latest) < 0 {
					if time.Since(back) > 10*time.Second+busyTime {
						t.Fatalf("no ID %v after the clocks were right again: %v", time.Since(back), p.Check())
					}
				}
			}
			t.Logf("all issue %v after the clocks were right again", time.Since(back))
			slots, err := admin.List(Within(t))
			if err != nil || len(slots) < len(all) {
				t.Fatalf("List: %v, %v", slots, err)
			}
			for _, s := range slots {
				if time.Until(s.Until) > time.Hour {
					t.Errorf("the window of worker ID %d ends at %v", s.WorkerID, s.Until)
				}
			}
		})
	}
}

// Suspended suspends a machine for an hour, by both of its clocks. Its generator issues IDs within
// a second.
func Suspended(t *testing.T, url string) {
	t.Parallel()
	m := NewMachine()
	p := startProcess(t, url, coord.OpenOptions{Clock: m, Logger: quiet},
		core.Config{Clock: m, Logger: quiet})
	t.Cleanup(func() { end([]Process{p}) })
	if err := p.Ready(Within(t)); err != nil {
		t.Fatal(err)
	}
	m.Suspend(time.Hour)
	awake := time.Now()
	if _, err := p.NextContext(Within(t)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(awake)
	t.Logf("it issues %v after the machine is awake", took)
	if took > time.Second+busyTime {
		t.Errorf("it issues after %v; want 1 s", took)
	}
}

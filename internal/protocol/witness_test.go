package protocol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// machine is a generator on a machine whose clock and uptime a test sets.
type machine struct {
	drivertest.Issuer
	*drivertest.Machine
}

// machines starts generators of one namespace, in a back end without a clock.
func machines(t *testing.T, server *memstore.Server, n int) (all []*machine) {
	t.Helper()
	for range n {
		m := &machine{Machine: drivertest.NewMachine()}
		c, _ := tap(t, server, m.Machine)
		g, err := core.New(t.Context(), c, core.Config{Clock: m.Machine})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close(context.Background()) })
		m.Generator = g
		all = append(all, m)
	}
	return all
}

// TestClocksAYearAhead: the clocks of all machines are a year ahead for a moment. No window grows,
// so that no worker ID is shut for a year, and no ID is dated beyond the windows of that moment.
func TestClocksAYearAhead(t *testing.T) {
	for _, d := range []time.Duration{10 * time.Millisecond, time.Second, 4 * time.Second} {
		inOurTime(t, func(t *testing.T) {
			server := memstore.NewServer("a")
			all := machines(t, server, 5)
			time.Sleep(13 * time.Second)
			latest := time.Now().Add(31 * time.Second)
			for _, m := range all {
				m.Step(drivertest.Year)
			}
			step := time.Now()
			for _, m := range all {
				m.Issues(t, d/5, latest)
			}
			time.Sleep(time.Until(step.Add(d)))
			for _, m := range all {
				m.Step(-drivertest.Year)
			}
			for _, m := range all {
				if first := m.Issues(t, 2*time.Second, latest); first < 0 {
					t.Errorf("no ID after the clocks were right again: %v", m.Check())
				}
			}
			for _, s := range server.Slots() {
				if end := time.UnixMicro(space.Scale.Micro(s.NotAfter)); time.Until(end) > time.Hour {
					t.Errorf("the window of worker ID %d ends at %v", s.Worker, end)
				}
			}
		})
	}
}

// TestClockThatStaysAhead: a step that lasts is believed. Whoever acquires waits as long.
func TestClockThatStaysAhead(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		m := machines(t, server, 1)[0]
		own := m.Coordinator().(*protocol.Coordinator)
		time.Sleep(13 * time.Second)
		m.Step(time.Hour)
		if _, err := m.Next(); err == nil {
			t.Error("an ID after the end of the window")
		}
		time.Sleep(100 * time.Millisecond)
		req := wants("newcomer")
		_, err := own.Acquire(t.Context(), req)
		if err == nil || coord.Permanent(err) || errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "stepped ahead by 1h0m0") {
			t.Errorf("Acquire: %v", err)
		}
		if first := m.Issues(t, 12*time.Second, time.Now().Add(2*time.Hour)); first < 4*time.Second ||
			first > 10*time.Second {
			t.Errorf("the first ID came after %v", first)
		}
		mustAcquire(t, own, req)
	})
}

// TestSuspendedMachine: a machine that was suspended for an hour issues at once.
func TestSuspendedMachine(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		m := machines(t, memstore.NewServer("a"), 1)[0]
		time.Sleep(13 * time.Second)
		m.Suspend(time.Hour)
		if first := m.Issues(t, 2*time.Second, time.Now().Add(2*time.Hour)); first < 0 ||
			first > time.Second {
			t.Errorf("the first ID came after %v", first)
		}
	})
}

// TestReadingFromBeforeTheClockWasSet: a caller has read a clock that was a year ahead, and it was
// set before the call. No window is as long.
func TestReadingFromBeforeTheClockWasSet(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		own := machines(t, server, 1)[0].Coordinator().(*protocol.Coordinator)
		g := mustAcquire(t, own, wants("a"))
		time.Sleep(time.Second)
		r, err := own.Renew(t.Context(), g, g.NotAfter+drivertest.Year.Milliseconds())
		if err != nil || r.NotAfter != g.NotAfter {
			t.Errorf("Renew: %v, %v; want %v", r, err, g)
		}
		ahead := wants("b")
		ahead.Now += drivertest.Year.Milliseconds()
		ahead.Until += drivertest.Year.Milliseconds()
		if g, err := own.Acquire(t.Context(), ahead); err == nil {
			t.Errorf("granted is %v", g)
		}
		mustRenew(t, own, r, 1000)
	})
}

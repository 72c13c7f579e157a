package static

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// TestWaitWithoutStateFile: a start waits as long as any predecessor can have been ahead,
// however little it is ahead itself. What may be further ahead needs a state file.
func TestWaitWithoutStateFile(t *testing.T) {
	for _, tt := range []struct {
		unit, ahead int64
		from        int64 // 0: refused
		most        int
	}{
		{1000, 0, 1005, 5},
		{1000, 5, 1005, 5},
		{1000, 6, 0, 5},
		{1000, 1000, 0, 5},
		{2000, 3, 1003, 3},
		{2000, 4, 0, 3},
		{10000, 1, 1001, 1}, // a tick that is longer than what is allowed
		{10000, 2, 0, 1},
	} {
		req := request("a", 1000)
		req.Scale.Unit, req.Ahead = tt.unit, tt.ahead
		g, err := open(t, Options{}).Acquire(t.Context(), req)
		if tt.from == 0 {
			tick := time.Duration(tt.unit) * time.Microsecond
			wantError(t, err, coord.ErrInvalid, fmt.Sprintf("coord: invalid: Lead and RollbackTolerance let the generator be %d ticks of %v ahead of the clock; without a state file at most %d are allowed, because a restart that waits for less issues the same IDs again; name a state file, or set Lead to 0 and RollbackTolerance to at most 5ms", tt.ahead, tick, tt.most))
		} else if err != nil || g.NotBefore != tt.from {
			t.Errorf("%d ticks of %d us ahead: %v, %v; want it to begin at %d", tt.ahead, tt.unit, g, err, tt.from)
		}
		window(t, acquire(t, open(t, Options{State: statePathOf(t), AcceptFresh: true}), req), 0, 4000)
	}
}

// TestLeadNeedsAStateFile is the same for a generator, whose defaults need none.
func TestLeadNeedsAStateFile(t *testing.T) {
	lead := core.Config{Lead: 10 * time.Millisecond}
	if _, err := core.New(t.Context(), open(t, Options{}), lead); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "name a state file") {
		t.Errorf("Lead without a state file: %v", err)
	}
	for _, tt := range []struct {
		cfg core.Config
		o   Options
	}{{core.Config{}, Options{}}, {lead, Options{State: statePathOf(t), AcceptFresh: true}}} {
		g, err := core.New(t.Context(), open(t, tt.o), tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// ending writes the state files of worker IDs 7, 8 and so on, whose windows end at the
// ticks. A tick below 0 is a file that is missing.
func ending(t *testing.T, ns, layout string, ticks ...int64) (path string) {
	t.Helper()
	path = statePathOf(t)
	for i, tick := range ticks {
		r := record{Version: stateVersion, Namespace: ns, Worker: 7 + i, Layout: layout, Generation: 3, NotAfter: tick}
		name, err := statePath(path, 7, 7+i)
		if err == nil && tick >= 0 {
			err = realStorage().save(name, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestOpenBy: the worker ID is granted whose window opens in time, else the one that
// opens first. A file that cannot be used is passed over, if another one can.
func TestOpenBy(t *testing.T) {
	const never = -1
	far := int64(1000 + 24*3600*1000 + 1)
	for _, tt := range []struct {
		name  string
		ends  []int64
		fresh bool
		want  []int // worker IDs in the order in which they are granted
	}{
		{"in order", []int64{0, 500, 1000}, false, []int{7, 8, 9}},
		{"in time first", []int64{4000, 3000, 900}, false, []int{9, 8, 7}},
		{"edge", []int64{1001, 1000}, false, []int{8, 7}},
		{"missing may be lost", []int64{never, 3000, 4500}, false, []int{8, 7, 9}},
		{"missing and new", []int64{4000, never}, true, []int{8, 7}},
		{"too far", []int64{far, far - 1, 4000}, false, []int{9, 8}},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			ns := rand.Text()
			c := open(t, Options{Namespace: ns, State: ending(t, ns, "layout-a", tt.ends...), Count: len(tt.ends), AcceptFresh: tt.fresh})
			for i, want := range tt.want {
				if g := acquire(t, c, request(fmt.Sprint(i), 1000)); g.WorkerID != want {
					t.Fatalf("grant %d is %v; want worker ID %d", i, g, want)
				}
			}
		})
	}
}

// TestOpenByWithoutStateFile: what this process knows of a worker ID counts.
func TestOpenByWithoutStateFile(t *testing.T) {
	c := open(t, Options{Count: 2})
	g := acquire(t, c, request("a", 1000))
	h := acquire(t, c, request("b", 1000))
	for _, r := range []struct {
		coord.Grant
		last int64
	}{{g, 3500}, {h, 1500}} {
		if err := c.Release(t.Context(), r.Grant, r.last); err != nil {
			t.Fatal(err)
		}
	}
	if i := acquire(t, c, request("c", 2000)); i.WorkerID != h.WorkerID {
		t.Errorf("granted was %v; want worker ID %d, which opens in time", i, h.WorkerID)
	}
}

// TestPassedOver: a state file that cannot be used is mentioned, though another worker ID
// is granted, and not touched.
func TestPassedOver(t *testing.T) {
	ns := rand.Text()
	path := ending(t, ns, "layout-a", 0, 0)
	write(t, path, "garbage")
	var log bytes.Buffer
	c := open(t, Options{Namespace: ns, State: path, Count: 2, Logger: logTo(&log)})
	if g := acquire(t, c, request("a", 1000)); g.WorkerID != 8 {
		t.Errorf("granted was %v; want worker ID 8", g)
	}
	if !strings.Contains(log.String(), "worker ID cannot be used as it is") || !strings.Contains(log.String(), path) {
		t.Errorf("nothing was logged of it: %q", log.String())
	}
	_, err := c.Acquire(t.Context(), request("b", 1000))
	if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), path) {
		t.Errorf("with only that left: %v", err)
	}
	untouched(t, path, "garbage")
}

// TestLostFilePassedOver: a state file that was lost is mentioned, though another worker ID
// is granted. One that was never there, or need not be, is not.
func TestLostFilePassedOver(t *testing.T) {
	ns := rand.Text()
	path := ending(t, ns, "layout-a", -1, 0, 0)
	var log bytes.Buffer
	o := Options{Namespace: ns, State: path, Count: 3, Logger: logTo(&log)}
	for id := 8; id <= 9; id++ { // 8 is passed over when its file is gone
		c := open(t, o)
		if g := acquire(t, c, request("a", 1000)); g.WorkerID != id {
			t.Errorf("granted was %v; want worker ID %d", g, id)
		}
		_ = c.Close()
		if id == 8 {
			if err := os.Remove(path + ".8"); err != nil {
				t.Fatal(err)
			}
			if log.Len() > 0 {
				t.Errorf("logged was %q", log.String())
			}
		}
	}
	if got := log.String(); strings.Count(got, "state file is missing") != 1 || !strings.Contains(got, "worker_id=8") {
		t.Errorf("a state file was lost, and logged was %q", got)
	}
	log.Reset()
	o.AcceptFresh = true
	acquire(t, open(t, o), request("b", 1000))
	if log.Len() > 0 {
		t.Errorf("with AcceptFresh logged was %q", log.String())
	}
}

// TestWindowTooFarAhead: nobody waits until 2060, or for what a day and a tick bring.
func TestWindowTooFarAhead(t *testing.T) {
	ns := rand.Text()
	scale := clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
	far := scale.Tick(time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	path := ending(t, ns, "layout-a", far)
	c := open(t, Options{Namespace: ns, State: path})
	day := int64(MaxHorizon / time.Millisecond)
	for _, now := range []int64{1000, far - day - 1} {
		req := request("a", now)
		req.Scale = scale
		_, err := c.Acquire(t.Context(), req)
		wantError(t, err, coord.ErrInvalid, "coord: invalid: the last window of worker ID 7 of namespace \""+ns+"\" ends at 2060-01-01T00:00:00Z, further ahead than any right clock can have pushed it; set this machine's clock if it is behind; if it is right, a wrong one pushed the window and IDs of that time may exist: use another worker ID, with a state file of its own")
		if r := stored(t, path); r.NotAfter != far || r.Generation != 3 || len(c.held) != 0 {
			t.Errorf("held are %v, stored is %+v", c.held, r)
		}
	}
	req := request("a", far-day)
	req.Scale = scale
	window(t, acquire(t, c, req), far, far)
}

// TestHealsWithAnotherWorkerID: after a step of the clock backward service goes on at once
// with a worker ID whose window lies behind the new time, past one that is no help.
func TestHealsWithAnotherWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := core.DefaultLayout()
		layout.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
		tick := func(d time.Duration) int64 { return time.Now().Add(d).Sub(layout.Epoch).Milliseconds() }
		ns := rand.Text()
		path := ending(t, ns, layout.String(), tick(-time.Hour), tick(2*time.Minute), tick(-time.Hour))
		c := open(t, Options{Namespace: ns, State: path, Count: 3})
		shifted := clocktest.NewShifted(time.Now())
		g, err := core.New(t.Context(), c, core.Config{Layout: layout, Clock: shifted})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
		shifted.Step(-time.Minute)
		_, _ = g.Next() // which notices the step
		time.Sleep(2 * time.Second)
		id, err := g.Next()
		if err != nil || layout.Decompose(id).WorkerID != 9 {
			t.Errorf("2s after the clock stepped back: worker ID %d, %v; want 9", layout.Decompose(id).WorkerID, err)
		}
	})
}

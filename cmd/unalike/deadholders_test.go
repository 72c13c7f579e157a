package main

import (
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
)

func TestWorthWaiting(t *testing.T) {
	slot := func(id int, renewed time.Duration) coord.Slot {
		return coord.Slot{
			WorkerID: id, State: coord.SlotHeld, TTL: 10 * time.Second,
			Renewed: at.Add(renewed),
		}
	}
	old, fresh := slot(1, -time.Minute), slot(2, -5*time.Second)
	unknown := old
	unknown.TTL = 0
	for _, tt := range []struct {
		name          string
		first, second []coord.Slot
		after         time.Duration
		now, then     bool
	}{
		{"one that is silent", []coord.Slot{old}, []coord.Slot{old}, 14 * time.Second, true, true},
		{
			"for longer than its lease lasts",
			[]coord.Slot{old},
			[]coord.Slot{old},
			15 * time.Second, true,
			false,
		},
		{"who renews", []coord.Slot{old}, []coord.Slot{slot(1, time.Second)}, time.Second, true, false},
		{"and another who renewed just now", []coord.Slot{old, fresh}, nil, 0, false, false},
		{"and another who came", []coord.Slot{old}, []coord.Slot{old, fresh}, time.Second, true, false},
	} {
		var d deadHolders
		if got := d.worthWaiting(tt.first, at); got != tt.now {
			t.Errorf("%s: at the first look %v", tt.name, got)
		}
		if got := tt.now && d.worthWaiting(tt.second, at.Add(tt.after)); got != tt.then {
			t.Errorf("%s: at the second look %v", tt.name, got)
		}
	}
}

// TestMoveAwayFromTheDead: what crashed long ago, in the eyes of the operator, and has a
// lease all the same, is waited for.
func TestMoveAwayFromTheDead(t *testing.T) {
	t.Parallel()
	server, newSpace := newSpaces(t)
	old, url := newSpace(), newSpace()
	past := clocktest.NewShifted(time.Now().Add(-time.Minute))
	name := old[strings.LastIndex(old, "/")+1:]
	c, err := etcd.New(server.Client(t), name, etcd.Options{Clock: past})
	if err != nil {
		t.Fatal(err)
	}
	s := core.DefaultLayout().Space()
	now := s.Scale.Tick(past.UnixMicro())
	drivertest.MustAcquire(t, c, coord.Request{
		Token: "token", Holder: "dead", Fingerprint: s.Fingerprint, Scale: s.Scale,
		LastTick: s.LastTick, Capacity: s.Capacity, Workers: coord.Range{Count: 1},
		TTL: 3 * time.Second, Now: now, Until: now + 1000,
	})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got := call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old)
	wantCall(t, got, exitOK, "it grants from ", "unalike: 1 worker IDs of "+old+
		" are held, but their holders have not renewed for a while; waiting until ")
}

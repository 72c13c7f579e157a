package main

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/core"
)

func TestWorthWaiting(t *testing.T) {
	slot := func(id int, renewed time.Duration) coord.Slot {
		return coord.Slot{WorkerID: id, State: coord.SlotHeld, TTL: 10 * time.Second, Renewed: at.Add(renewed)}
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
		{"for longer than its lease lasts", []coord.Slot{old}, []coord.Slot{old}, 15 * time.Second, true, false},
		{"whose TTL is not known", []coord.Slot{unknown}, []coord.Slot{unknown}, 19 * time.Second, true, true},
		{"who renews", []coord.Slot{old}, []coord.Slot{slot(1, time.Second)}, time.Second, true, false},
		{"and another who renewed just now", []coord.Slot{old, fresh}, nil, 0, false, false},
		{"and another who came", []coord.Slot{old}, []coord.Slot{old, fresh}, time.Second, true, false},
		{"one of two has ended", []coord.Slot{slot(3, -time.Hour), old}, []coord.Slot{old}, time.Second, true, true},
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
	u, err := driver.ParseURL(old)
	if err != nil {
		t.Fatal(err)
	}
	past := clocktest.NewShifted(time.Now().Add(-time.Minute))
	c, err := etcd.New(server.Client(t), u.Path[1:], etcd.Options{Clock: past})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), callTime)
	defer cancel()
	s := core.DefaultLayout().Space()
	now := s.Scale.Tick(past.UnixMicro())
	if _, err := c.Acquire(ctx, coord.Request{
		Token: "token", Holder: "dead", Fingerprint: s.Fingerprint, Scale: s.Scale, LastTick: s.LastTick, Capacity: s.Capacity,
		Workers: coord.Range{Count: 1}, TTL: 3 * time.Second, Now: now, Until: now + 1000,
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got := call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old)
	wantCall(t, got, exitOK, "it grants from ", "unalike: 1 worker IDs of "+old+" are held, but their holders have not renewed for a while; waiting until ")
}

// TestLower: a floor that a wrong clock has raised is taken back; one that was set to a
// given time is not.
func TestLower(t *testing.T) {
	t.Parallel()
	server, newSpace := newSpaces(t)
	url := newSpace()
	wantCall(t, call(t, nil, "", "init", "--coordinator", url), exitOK, "is new", "")
	u, err := driver.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := etcd.New(server.Client(t), u.Path[1:], etcd.Options{Clock: clocktest.NewShifted(time.Now().AddDate(1, 0, 0))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wrong.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), callTime)
	defer cancel()
	if floor, err := wrong.Quarantine(ctx, time.Time{}); err != nil || floor.Before(time.Now().AddDate(0, 11, 0)) {
		t.Fatalf("a clock that is a year ahead raises the floor to %v, %v", floor, err)
	}
	got := call(t, nil, "", "quarantine", "--lower", "--yes", "--coordinator", url)
	wantCall(t, got, exitOK, "the floor of "+url+" is ", "will be lowered as far as windows that the back end has forgotten can reach")
	info, err := wrong.Inspect(ctx)
	if err != nil || info.Floor.After(time.Now().Add(far+time.Minute)) {
		t.Errorf("the floor is %v, %v", info.Floor, err)
	}
	base := time.Now().Add(3 * time.Hour).UTC().Truncate(time.Second)
	wantCall(t, call(t, nil, "", "quarantine", "--until", base.Format(time.RFC3339), "--yes", "--coordinator", url), exitOK, "the floor of", "It cannot be taken back.")
	wantCall(t, call(t, nil, "", "quarantine", "--lower", "--yes", "--coordinator", url), exitOK, base.Format("2006-01-02T15:04:05"), "")
}

func TestQuarantineFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--lower", "--for", "1h"}, "--lower takes neither --until nor --for nor --far"},
		{[]string{"--lower", "--far"}, "--lower takes neither"},
		{[]string{"--until", "2040-01-01T00:00:00Z", "--for", "1h"}, "exclude each other"},
		{[]string{"--for", "300000h"}, "the floor would be 12500 days and 0s ahead, and nothing is granted until then; this cannot be taken back; at most 24h0m0s is allowed without --far"},
		{[]string{"--until", time.Now().AddDate(0, 0, 3).Format(time.RFC3339)}, "is allowed without --far"},
	} {
		wantCall(t, call(t, nil, "", append([]string{"quarantine", "--yes", "--coordinator", "etcd://127.0.0.1:1/orders"}, tt.args...)...), exitUsage, "", tt.want)
	}
	url := "static://?worker=7"
	wantCall(t, call(t, nil, "", "quarantine", "--lower", "--yes", "--coordinator", url), exitFailure, "", "there is no such namespace")
}

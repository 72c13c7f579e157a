package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
)

func TestQuarantine(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	wantCall(t, call(t, nil, "", "quarantine", "--yes", "--coordinator", url), exitFailure, "", "there is no such namespace; 'unalike init' declares it\n")
	wantCall(t, call(t, nil, "", "init", "--coordinator", url), exitOK, url+" is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z\n", "")
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC().Format(time.RFC3339Nano)
	got := call(t, nil, "", "quarantine", "--until", until, "--yes", "--coordinator", url)
	wantCall(t, got, exitOK, "the floor of "+url+" is ", "The floor of "+url+" will be raised to ")
	wantCall(t, got, exitOK, ", in 59m", "No worker ID is held.\n")
	for _, args := range [][]string{nil, {"--for", "5m"}, {"--until", "2025-01-01T00:00:00+01:00"}} {
		got = call(t, nil, "", append([]string{"quarantine", "--yes", "--coordinator", url}, args...)...)
		if got.code != exitOK || !strings.Contains(got.out, ", in 59m") || len(args) > 0 && !strings.Contains(got.out, "was higher already: it is ") {
			t.Errorf("%v lowers the floor: %+v", args, got)
		}
	}
}

// TestRetireHeld: the generator that holds the worker ID moves to another one.
func TestRetireHeld(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	moved := make(chan int, 16)
	g := generator(t, url, core.Config{
		Lease: coord.LeaseConfig{TTL: callTime, Horizon: callTime, RenewEvery: 200 * time.Millisecond},
		OnChange: func(h core.Health) {
			if len(h.Workers) == 1 && h.Healthy {
				moved <- h.Workers[0].WorkerID
			}
		},
	})
	before := ids(t, g, 100)
	if id := g.Health().Workers[0].WorkerID; id != 0 {
		t.Fatalf("the first worker ID is %d", id)
	}
	got := call(t, nil, "", "retire", "0", "--yes", "--coordinator", url)
	wantCall(t, got, exitOK, "worker ID 0 of "+url+" is retired\n", "It is held by "+holderHere(t)+" since ")
	wantCall(t, got, exitOK, "", "The holder loses it at its next renewal and takes another one.\n")
	timeout := time.After(callTime)
	for id := 0; id == 0; {
		select {
		case id = <-moved:
		case <-timeout:
			t.Fatalf("the generator did not move: %+v", g.Health())
		}
	}
	layout := core.DefaultLayout()
	after := ids(t, g, 100)
	if w := layout.Decompose(after[0]).WorkerID; w == 0 || after[0] <= before[99] {
		t.Errorf("worker ID %d, ID %d after %d", w, after[0], before[99])
	}
	wantCall(t, call(t, nil, "", "retire", "0", "--yes", "--coordinator", url), exitOK, "worker ID 0 of "+url+" is retired already\n", "")
	wantCall(t, call(t, nil, "", "retire", "1024", "--yes", "--coordinator", url), exitFailure, "", "worker ID 1024; the layout has worker IDs 0 to 1023")
	closeGenerator(t, g)
	wantCall(t, call(t, nil, "", "retire", "1", "--yes", "--coordinator", url), exitOK, "is retired\n", "It is free; it was held last by "+holderHere(t))
}

// above checks that all IDs of after lie above those of before.
func above(t *testing.T, before, after []core.ID) {
	t.Helper()
	highest := before[0]
	for _, id := range before {
		highest = max(highest, id)
	}
	for _, id := range after {
		if id <= highest {
			t.Errorf("ID %d in the new namespace; the old one has issued %d", id, highest)
		}
	}
}

// TestMove moves a namespace from a state file to etcd, and on to another namespace,
// with generators that run ahead of the clock: without a floor, the IDs of the new
// namespace would lie below those of the old one.
func TestMove(t *testing.T) {
	_, newSpace := newSpaces(t)
	const lead = 2 * time.Second
	lease := coord.LeaseConfig{TTL: callTime, Horizon: callTime} // nothing ends because the machine is slow
	old := stateFile(t, "0") + "&horizon=" + callTime.String()
	var last []core.ID
	for i, url := range []string{newSpace(), newSpace()} {
		g := generator(t, old, core.Config{Lead: lead, Lease: lease})
		all := ids(t, g, 4096*1000) // the IDs of a second, which take a fast machine a tenth of it
		if i > 0 {
			above(t, last, all[:1])
		}
		last = all[len(all)-1:]
		held := call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old)
		wantCall(t, held, exitFailure, "", "1 of its worker IDs are held; stop the generators first")
		wantCall(t, held, exitFailure, "", "0          held   "+holderHere(t)+"  ")
		if strings.Contains(held.stderr, "will be declared new") {
			t.Errorf("it is held, and the question was asked:\n%s", held.stderr)
		}
		closeGenerator(t, g)
		for range 2 { // repeating it is safe
			got := call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old)
			wantCall(t, got, exitOK, "it grants from ", "The old namespace will be closed: ")
		}
		wantCall(t, call(t, nil, "", "workers", "--coordinator", url), exitOK, "no worker ID was ever granted", "")
		old = url
	}
	after := ids(t, generator(t, old, core.Config{Lead: lead, Lease: lease}), 1000)
	above(t, last, after)
	wantCall(t, call(t, nil, "", "init", "--yes", "--coordinator", old, "--after", newSpace()), exitFailure, "", "no worker ID was ever granted in this namespace")
}

// TestMoveReturns: nobody comes back to a namespace that has moved.
func TestMoveReturns(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, url := newSpace(), newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	wantCall(t, call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old), exitOK, "it grants from ", "")
	got := call(t, nil, "", "generate", "--coordinator", old)
	wantCall(t, got, exitFailure, "", "the namespace is closed: its floor is the end of the layout; another namespace follows it, use that one")
	wantCall(t, call(t, nil, "", "init", "--yes", "--coordinator", newSpace(), "--after", old), exitFailure, "", "the old namespace is closed, because another one follows it")
}

func TestMoveRefuses(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, used := newSpace(), newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	closeGenerator(t, generator(t, used, core.Config{}))
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--coordinator", used, "--after", old}, exitFailure, "the new namespace is in use: these worker IDs were granted in it already: 0"},
		{[]string{"--coordinator", old, "--after", old}, exitUsage, "a namespace cannot follow itself"},
		{[]string{"--coordinator", newSpace(), "--after", old, "--layout", "twitter"}, exitFailure, "it has layout 41/10/12/1ms/2024-01-01T00:00:00Z, the new namespace 41/10/12/1ms/2010-11-04T01:42:54.657Z"},
		{[]string{"--coordinator", newSpace(), "--after", noState(t, "1")}, exitFailure, "cannot tell who holds its worker IDs"},
		{[]string{"--coordinator", newSpace(), "--after", "static://?worker=1&state=" + filepath.ToSlash(filepath.Join(t.TempDir(), "typo"))}, exitFailure, "no worker ID was ever granted in this namespace"},
	} {
		wantCall(t, call(t, nil, "", append([]string{"init", "--yes"}, tt.args...)...), tt.code, "", tt.want)
	}
	wantCall(t, call(t, nil, "", "init", "--coordinator", used), exitFailure, "", "the namespace is not new")
	declared := newSpace()
	wantCall(t, call(t, nil, "", "init", "--coordinator", declared, "--layout", "javascript"), exitOK, "", "")
	wantCall(t, call(t, nil, "", "init", "--yes", "--coordinator", declared, "--after", old), exitFailure, "", "layout mismatch")
}

// TestMoveRetired: what is retired stays retired, and its window, which a wrong clock
// may have pushed far into the future, does not keep the new namespace waiting.
func TestMoveRetired(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, url := newSpace(), newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	wantCall(t, call(t, nil, "", "retire", "5", "--yes", "--coordinator", old), exitOK, "", "")
	for range 2 {
		got := call(t, nil, "", "init", "--yes", "--coordinator", url, "--after", old)
		wantCall(t, got, exitOK, "it grants from ", "Retired as in the old namespace: 5.\n")
	}
	if all := listed(t, "--coordinator", url); len(all) != 1 || all[0].WorkerID != 5 || all[0].State != "retired" {
		t.Errorf("in the new namespace: %+v", all)
	}
}

// TestDescribeMove: a floor far away is explained before anybody agrees to it.
func TestDescribeMove(t *testing.T) {
	n, old := &namespace{name: "new://"}, &namespace{name: "old://"}
	window := coord.Slot{WorkerID: 17, Until: at.Add(time.Hour)}
	o := &initOptions{maxHorizon: durationValue(6 * time.Hour)}
	o.layout.Layout = core.DefaultLayout()
	for _, tt := range []struct {
		end  follow.Ending
		want string
	}{
		{follow.Ending{Until: at.Add(time.Hour), Furthest: window}, "That far reaches the window of worker ID 17 of the old namespace."},
		{follow.Ending{Until: at.Add(2 * time.Hour), Furthest: window}, "That far reaches the floor of the old namespace."},
		{follow.Ending{Until: at.Add(time.Hour), Furthest: window, MaxHorizon: time.Hour}, "in 1h0m0s: nothing is granted below it. It cannot be taken back.\nThe old namespace"},
		{follow.Ending{Until: at}, "new:// will be declared new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z, and windows of up to 6h0m0s, to follow old://."},
		{follow.Ending{Until: at.Add(time.Minute)}, "in 1m0s: nothing is granted below it. It cannot be taken back.\nThe old namespace"},
	} {
		if got := describeMove(n, old, tt.end, o, at); !strings.Contains(got, tt.want) {
			t.Errorf("%+v is described as\n%s\nwant %q", tt.end, got, tt.want)
		}
	}
}

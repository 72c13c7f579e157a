package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
)

// TestQuarantine: a floor goes up only, and one that was set to a given time is not lowered.
func TestQuarantine(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	quarantine := "quarantine --yes --coordinator " + url
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	checkLines(t, nil, []line{
		{quarantine, exitFailure, "there is no such namespace; 'unalike init' declares it\n"},
		{"init --coordinator " + url, exitOK, url +
			" is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z\n"},
		{quarantine, exitOK, "The floor of " + url +
			" will be raised as far as windows that the back end"},
	})
	got := call(t, nil, "", strings.Fields(quarantine+" --until "+until)...)
	wantCall(t, got, exitOK, "the floor of "+url+" is ", "The floor of "+url+" will be raised to ")
	wantCall(t, got, exitOK, ", in 59m", " It cannot be taken back.\nNo worker ID is held.\n")
	checkLines(t, nil, []line{
		{quarantine, exitOK, ", in 59m"},
		{quarantine + " --for 5m", exitOK, "was higher already: it is "},
		{quarantine + " --until 2025-01-01T00:00:00+01:00", exitOK, "was higher already: it is "},
		{
			quarantine + " --lower", exitOK,
			"will be lowered as far as windows that the back end has forgotten can",
		},
		{quarantine + " --lower", exitOK, ", in 59m"},
		{"init --coordinator " + url, exitOK, ":00Z\nit grants from "},
	})
}

// TestRetireHeld: the holder is named before, and the last one of a worker ID that is free.
func TestRetireHeld(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	g := generator(t, url, core.Config{})
	retire := func(id string) result {
		return call(t, nil, "", "retire", id, "--yes", "--coordinator", url)
	}
	retired := "worker ID 0 of " + url + " is retired"
	got := retire("0")
	wantCall(t, got, exitOK, retired+"\n", "It is held by "+holderHere(t)+" since ")
	wantCall(t, got, exitOK, "", "The holder loses it at its next renewal and takes another one.\n")
	closeGenerator(t, g)
	wantCall(t, retire("0"), exitOK, retired+" already\n", "")
	closeGenerator(t, generator(t, url, core.Config{}))
	id := strconv.Itoa(listed(t, "--coordinator", url)[0].WorkerID)
	wantCall(t, retire(id), exitOK, "is retired\n", "It is free; it was held last by "+holderHere(t))
}

// TestMoveRetired moves a namespace, once nobody holds a worker ID any more, and again, which is
// safe. What is retired stays retired, and its window, which a wrong clock may have pushed far into
// the future, does not keep the new namespace waiting.
func TestMoveRetired(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, url := newSpace(), newSpace()
	move := []string{"init", "--yes", "--coordinator", url, "--after", old}
	g := generator(t, old, core.Config{})
	got := call(t, nil, "", move...)
	wantCall(t, got, exitFailure, "", "1 of its worker IDs are held; stop the generators first")
	wantCall(t, got, exitFailure, "", "0          held   "+holderHere(t)+"  ")
	if strings.Contains(got.stderr, "will be declared new") {
		t.Errorf("it is held, and the question was asked:\n%s", got.stderr)
	}
	closeGenerator(t, g)
	checkLines(t, nil, []line{{"retire 5 --yes --coordinator " + old, exitOK, ""}})
	for range 2 {
		got = call(t, nil, "", move...)
		wantCall(t, got, exitOK, "it grants from ",
			"Retired as in the old namespace: 5.\nThe old namespace will be closed: ")
	}
	if all := listed(t, "--coordinator", url); len(all) != 1 || all[0].WorkerID != 5 ||
		all[0].State != "retired" {
		t.Errorf("in the new namespace: %+v", all)
	}
}

// TestMoveReturns: nobody comes back to a namespace that has moved.
func TestMoveReturns(t *testing.T) {
	_, newSpace := newSpaces(t)
	old := newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	checkLines(t, nil, []line{
		{"init --yes --coordinator " + newSpace() + " --after " + old, exitOK, "it grants from "},
		{
			"generate --coordinator " + old, exitFailure,
			"the namespace is closed: its floor is the end of the layout; another namespace follows it",
		},
		{
			"init --yes --coordinator " + newSpace() + " --after " + old, exitFailure,
			"the old namespace is closed, because another one follows it",
		},
	})
}

func TestMoveRefuses(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, used := newSpace(), newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	closeGenerator(t, generator(t, used, core.Config{}))
	after := "init --yes --after " + old + " --coordinator "
	checkLines(t, nil, []line{
		{
			after + used, exitFailure,
			"the new namespace is in use: these worker IDs were granted in it already: 0",
		},
		{after + old, exitUsage, "a namespace cannot follow itself"},
		{
			"init --yes --after static://?worker=1 --coordinator " + newSpace(), exitFailure,
			"cannot tell who holds its worker IDs",
		},
		{
			"init --yes --after " + newSpace() + " --coordinator " + newSpace(), exitFailure,
			"no worker ID was ever granted in this namespace",
		},
	})
}

// TestDescribeMove: a floor far away is explained before anybody agrees to it.
func TestDescribeMove(t *testing.T) {
	n, old := &namespace{name: "new://"}, &namespace{name: "old://"}
	window := coord.Slot{WorkerID: 17, Until: at.Add(time.Hour)}
	var o initOptions
	o.maxHorizon.v, o.layout.v = 6*time.Hour, core.DefaultLayout()
	for _, tt := range []struct {
		end  follow.Ending
		want string
	}{
		{
			follow.Ending{Until: at.Add(time.Hour), Furthest: window},
			"That far reaches the window of worker ID 17 of the old namespace.",
		},
		{
			follow.Ending{Until: at.Add(2 * time.Hour), Furthest: window},
			"That far reaches the floor of the old namespace.",
		},
		{
			follow.Ending{Until: at},
			"new:// will be declared new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z, and " +
				"windows of up to 6h0m0s, to follow old://.",
		},
	} {
		if got := describeMove(n, old, tt.end, &o, at); !strings.Contains(got, tt.want) {
			t.Errorf("%+v is described as\n%s\nwant %q", tt.end, got, tt.want)
		}
	}
}

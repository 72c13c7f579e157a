package main

import (
	"testing"

	"github.com/unalike-id/unalike/core"
)

// TestMaxHorizon declares a namespace with a longer horizon than its coordinator has otherwise,
// sees it, and moves to one with another.
func TestMaxHorizon(t *testing.T) {
	_, newSpace := newSpaces(t)
	url, next := newSpace(), newSpace()
	declare := func(to string, more ...string) result {
		return call(t, nil, "", append([]string{"init", "--coordinator", to}, more...)...)
	}
	for range 2 {
		wantCall(t, declare(url, "--max-horizon", "6h"), exitOK, " is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z, and windows of up to 6h0m0s\n", "")
	}
	wantCall(t, declare(url, "--max-horizon", "1h"), exitFailure, "", "is declared with a longest horizon of 6h0m0s, and it is to be declared with 1h0m0s; that is fixed")
	wantCall(t, declare(url), exitFailure, "", "is declared with a longest horizon of 6h0m0s, and it is to be declared with 2m0s; that is fixed")
	wantCall(t, declare(newSpace(), "--max-horizon", "25h"), exitFailure, "", "MaxHorizon is 25h0m0s; it is more than 2m0s, which every namespace has, at most 24h0m0s, and in whole milliseconds")
	wantCall(t, declare(newSpace(), "--max-horizon", "soon"), exitUsage, "", "a positive duration with a unit is needed")

	closeGenerator(t, generator(t, url, core.Config{}))
	wantCall(t, call(t, nil, "", "workers", "--coordinator", url), exitOK, "\nwindows reach up to 6h0m0s ahead, as the namespace was declared: so long nothing is granted after a loss of state\n", "")
	if all := listed(t, "--coordinator", url); len(all) != 1 || all[0].MaxHorizon != 6*3600 {
		t.Errorf("workers: %+v", all)
	}

	wantCall(t, declare(next, "--max-horizon", "12h", "--yes", "--after", url), exitOK, ", and windows of up to 12h0m0s, and follows ", "")
	wantCall(t, call(t, nil, "", "workers", "--coordinator", next), exitOK, "windows reach up to 12h0m0s ahead", "")
}

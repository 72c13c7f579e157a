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
	const (
		long  = "init --max-horizon 6h --coordinator "
		isNew = " is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z, and windows of up to 6h0m0s\n"
		fixed = "is declared with a longest horizon of 6h0m0s, and it is to be declared with "
	)
	checkLines(t, nil, []line{
		{long + url, exitOK, isNew},
		{long + url, exitOK, isNew},
		{"init --coordinator " + url, exitFailure, fixed + "2m0s; that is fixed"},
		{
			"init --max-horizon 25h --coordinator " + newSpace(), exitFailure,
			"MaxHorizon is 25h0m0s; it is more than 2m0s, which every namespace has, at most 24h0m0s, and " +
				"in whole milliseconds",
		},
	})
	closeGenerator(t, generator(t, url, core.Config{}))
	if all := listed(t, "--coordinator", url); len(all) != 1 || all[0].MaxHorizon != 6*3600 {
		t.Errorf("workers: %+v", all)
	}
	checkLines(t, nil, []line{
		{
			"workers --coordinator " + url, exitOK,
			"\nwindows reach up to 6h0m0s ahead, as the namespace was declared",
		},
		{
			"init --max-horizon 12h --yes --after " + url + " --coordinator " + next, exitOK,
			", and windows of up to 12h0m0s, and follows ",
		},
		{"workers --coordinator " + next, exitOK, "windows reach up to 12h0m0s ahead"},
	})
}

package main

import (
	"strings"
	"testing"
)

// TestBarRow checks when a bar is met: by its ratio, or by a slack if it has one.
func TestBarRow(t *testing.T) {
	for _, tt := range []struct {
		goal    goal
		ours    float64 // the baseline is 100
		verdict string
	}{
		{atMost(0.9), 90, "met"},
		{atMost(0.9), 94, "missed"},
		{atMost(1.1), 110, "met"},
		{atMost(1.1), 111, "missed"},
		{goal{limit: 2, slack: 150}, 250, "met"},
		{goal{limit: 2, slack: 150}, 251, "missed"},
		{atLeast(0.8), 80.1, "met"},
		{atLeast(0.8), 79, "missed"},
	} {
		b := bar{a: "ours", b: "base", unit: "ns/op", goal: tt.goal}
		row := b.row(measures{"ours": {"ns/op": {tt.ours}}, "base": {"ns/op": {100}}})
		if !strings.HasSuffix(row, "| "+tt.verdict+" |\n") {
			t.Errorf("%g beside 100, %v: %s want %s", tt.ours, tt.goal, row, tt.verdict)
		}
	}
}

// TestAbsoluteBar: a bar without a baseline is about the figure itself.
func TestAbsoluteBar(t *testing.T) {
	b := bar{
		layout: byDefault, what: "processor time", against: "the time that passes", unit: "cores",
		a: "ours", goal: atMost(0.2),
	}
	for cores, want := range map[float64]string{
		0.2:  "| 0.2 cores | the time that passes | 1 cores | 0.200 | at most 0.2 | 1 | met |\n",
		0.21: "| 0.21 cores | the time that passes | 1 cores | 0.210 | at most 0.2 | 1 | missed |\n",
	} {
		row := b.row(measures{"ours": {"cores": {cores}}})
		if row != "| 41/10/12, the default | processor time "+want {
			t.Errorf("%s want %s", row, want)
		}
	}
}

// TestNotMeasured: a row without a figure says so, whichever of the two is missing.
func TestNotMeasured(t *testing.T) {
	b := bar{unit: "ns/op", a: "ours", b: "base", goal: atMost(1)}
	for _, only := range []string{"ours", "base"} {
		row := b.row(measures{only: {"ns/op": {1}}})
		if !strings.Contains(row, "| not measured |") || strings.Contains(row, "met") {
			t.Errorf("only %s was measured: %s", only, row)
		}
	}
}

// TestBars: each bar names its layout, and no two have the same name.
func TestBars(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bars {
		name := b.layout + " " + b.what
		if b.layout == "" || b.limit == 0 || seen[name] {
			t.Errorf("%q has no layout or no limit, or is there twice", name)
		}
		seen[name] = true
	}
}

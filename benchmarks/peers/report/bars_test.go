package main

import (
	"strings"
	"testing"
)

// TestBarRow checks when a bar is met: by its ratio, or by a slack if it has one.
func TestBarRow(t *testing.T) {
	for _, tt := range []struct {
		bar     bar
		ours    float64 // the baseline is 100
		verdict string
	}{
		{bar{limit: 0.9}, 90, "met"},
		{bar{limit: 0.9}, 94, "missed"},
		{bar{limit: 1.1}, 110, "met"},
		{bar{limit: 1.1}, 111, "missed"},
		{bar{limit: 2, slack: 150}, 250, "met"},
		{bar{limit: 2, slack: 150}, 251, "missed"},
		{bar{limit: 0.8, atLeast: true}, 80.1, "met"},
		{bar{limit: 0.8, atLeast: true}, 79, "missed"},
	} {
		b := tt.bar
		b.a, b.b, b.unit = "ours", "base", "ns/op"
		row := b.row(measures{"ours": {"ns/op": {tt.ours}}, "base": {"ns/op": {100}}})
		if !strings.HasSuffix(row, "| "+tt.verdict+" |\n") {
			t.Errorf("%g beside 100, %+v: %s want %s", tt.ours, tt.bar, row, tt.verdict)
		}
	}
}

package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"strings"
)

const (
	// width is that of all charts, in pixels: what a page has room for.
	width = 700
	// textSize reads at that width, and in print.
	textSize = 15
	black    = "#000"
	dark     = "#123f6d"
	grey     = "#555"
	light    = "#ddd"
)

// svg is a chart on white, so that it is the same on a dark page and on paper.
type svg struct {
	body   strings.Builder
	height float64
}

func (s *svg) add(format string, args ...any) { fmt.Fprintf(&s.body, format+"\n", args...) }

// text writes a text. The anchor is start, middle or end.
func (s *svg) text(x, y float64, anchor, text string) {
	s.add(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
}

// headed writes the title, and what it is of below it.
func (s *svg) headed(title string, below ...string) {
	s.add(`<text x="10" y="24" font-size="18" font-weight="bold">%s</text>`, html.EscapeString(title))
	for i, line := range below {
		s.text(10, 46+19*float64(i), "start", line)
	}
}

func (s *svg) line(x1, y1, x2, y2 float64, colour string) {
	s.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x1, y1, x2, y2, colour)
}

func (s *svg) save(path string) error {
	text := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f"
	font-family="Helvetica, Arial, sans-serif" font-size="%d" fill="%s">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, s.height, textSize, black, s.body.String())
	return os.WriteFile(path, []byte(text), 0o644)
}

// steps returns the round numbers from 0 on that mark an axis which ends at most.
func steps(most float64) (marks []float64) {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	switch {
	case most/step < 2:
		step /= 5
	case most/step < 5:
		step /= 2
	}
	for mark := 0.0; mark <= most; mark += step {
		marks = append(marks, mark)
	}
	return marks
}

package main

import (
	"fmt"
	"html"
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

func (s *svg) save(path string) error {
	text := fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f"
	font-family="Helvetica, Arial, sans-serif" font-size="%d" fill="%s">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, s.height, textSize, black, s.body.String())
	return os.WriteFile(path, []byte(text), 0o644)
}

package main

import (
	"html"
	"strconv"
)

// chart is one that has a bar for each generator of which there is a figure.
type chart struct {
	title   string
	below   []string
	measure func(generator) string // the benchmark
	unit    string
	divisor float64 // of the figures
}

// draw draws our generators dark and the others light, each with its name and its figure.
func (c chart) draw(m measures) *svg {
	const left, right, thick, pitch = 180.0, 70.0, 22.0, 32.0
	s := new(svg)
	s.add(`<text x="10" y="24" font-size="18" font-weight="bold">%s</text>`,
		html.EscapeString(c.title))
	for i, line := range c.below {
		s.text(10, 46+19*float64(i), "start", line)
	}
	top := 42 + 19*float64(len(c.below))
	var shown []generator
	var values []float64
	most := 0.0
	for _, g := range generators {
		if v, runs := m.median(c.measure(g), c.unit); runs > 0 {
			v /= c.divisor
			shown, values, most = append(shown, g), append(values, v), max(most, v)
		}
	}
	for i, g := range shown {
		y, long := top+pitch*float64(i), (width-left-right)*values[i]/most
		fill := light
		if g.ours {
			fill = dark
		}
		s.text(left-10, y+thick-6, "end", g.label)
		s.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="%s"/>`,
			left, y, long, thick, fill, black)
		s.text(left+long+8, y+thick-6, "start", short(values[i]))
	}
	s.height = top + pitch*float64(len(shown)) + 6
	return s
}

// short writes a figure with what of it is worth reading.
func short(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

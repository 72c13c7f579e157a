package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// lineChart has a line for each generator, whose name stands at the line's right end.
type lineChart struct {
	title string
	below []string
	axis  string   // what the marks below are
	x     []string // the marks, at equal distances
	lines []line
}

type line struct {
	generator
	points []point
}

// point is a value y at the mark x.
type point struct {
	x int
	y float64
}

func (l line) last() point { return l.points[len(l.points)-1] }

const (
	chartLeft, chartRight = 50.0, 480.0
	labelsLeft            = chartRight + 34
	chartHigh             = 340.0
	rowHigh               = 18.0 // of a row of text
)

func (c lineChart) draw() *svg {
	s := new(svg)
	s.headed(c.title, c.below...)
	top := 60 + 19*float64(len(c.below))
	bottom := top + chartHigh
	s.height = bottom + 54
	most := 1.0
	for _, l := range c.lines {
		for _, p := range l.points {
			most = max(most, p.y)
		}
	}
	x := func(mark int) float64 {
		const first = chartLeft + 15
		return first + (chartRight-first)*float64(mark)/float64(len(c.x)-1)
	}
	y := func(v float64) float64 { return bottom - chartHigh*v/most }

	for _, mark := range steps(most) {
		s.line(chartLeft, y(mark), chartRight, y(mark), light)
		s.text(chartLeft-8, y(mark)+5, "end", fmt.Sprint(mark))
	}
	for mark, name := range c.x {
		s.line(x(mark), bottom, x(mark), bottom+5, black)
		s.text(x(mark), bottom+24, "middle", name)
	}
	s.text((chartLeft+chartRight)/2, bottom+44, "middle", c.axis)
	s.line(chartLeft, bottom, chartRight, bottom, black)
	slices.SortStableFunc(c.lines, func(a, b line) int { return cmp.Compare(b.last().y, a.last().y) })
	labels := make([]label, len(c.lines))
	for i, l := range c.lines {
		s.curve(l, x, y)
		labels[i] = label{at: y(l.last().y), rows: len(l.label)}
	}
	spread(labels, bottom)
	for i, l := range c.lines {
		at := labels[i].at
		s.line(x(l.last().x)+9, y(l.last().y), labelsLeft-6, at, grey)
		for row, text := range l.label {
			middle := float64(len(l.label)-1) / 2
			s.text(labelsLeft, at+5+rowHigh*(float64(row)-middle), "start", text)
		}
	}
	return s
}

// curve draws a line and its marks: ours thick and filled, the others thin and hollow.
func (s *svg) curve(l line, x func(int) float64, y func(float64) float64) {
	colour, fill, thick := grey, "#fff", 1.5
	if l.ours {
		colour, fill, thick = dark, dark, 2.5
	}
	var path strings.Builder
	for i, p := range l.points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(p.x), y(p.y))
	}
	s.add(`<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-dasharray="%s"/>`,
		path.String(), colour, thick, cmp.Or(l.dash, "none"))
	for _, p := range l.points {
		s.add(`<path d="%s" transform="translate(%.1f %.1f)" fill="%s" stroke="%s" stroke-width="1.5"/>`,
			l.mark, x(p.x), y(p.y), fill, colour)
	}
}

// label is a text of some rows, whose middle is at a height.
type label struct {
	at   float64
	rows int
}

// spread moves labels, which are in order from above, so that none covers another or goes
// below the bottom.
func spread(labels []label, bottom float64) {
	apart := func(i int) float64 { return rowHigh * float64(labels[i].rows+labels[i+1].rows) / 2 }
	for i := 0; i+1 < len(labels); i++ {
		labels[i+1].at = max(labels[i+1].at, labels[i].at+apart(i))
	}
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].at = min(labels[i].at, bottom)
		if i+1 < len(labels) {
			labels[i].at = min(labels[i].at, labels[i+1].at-apart(i))
		}
	}
}

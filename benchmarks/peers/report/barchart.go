package main

import "strconv"

// barChart draws a bar for each generator of which there is a figure: ours dark, the others
// light, each with its name and its figure.
func barChart(title string, below []string, figure func(generator) (value float64, runs int)) *svg {
	const left, right, thick, pitch = 180.0, 70.0, 22.0, 32.0
	s := new(svg)
	s.headed(title, below...)
	top := 42 + 19*float64(len(below))
	var shown []generator
	var values []float64
	most := 0.0
	for _, g := range generators {
		if v, runs := figure(g); runs > 0 {
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

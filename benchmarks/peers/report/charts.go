package main

import (
	"fmt"
	"image/color"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var (
	own    = color.RGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}
	others = color.RGBA{R: 0xa0, G: 0xa0, B: 0xa0, A: 0xff}
	faint  = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
)

// generators in the order in which they are drawn.
var generators = []string{"unalike-coarse", "unalike", "bwmarrin", "sonyflake", "xid", "ulid", "uuid4", "uuid7"}

func ours(gen string) bool { return gen == "unalike" || gen == "unalike-coarse" }

// drawAll makes the charts.
func drawAll(m measures, out string) error {
	for name, chart := range map[string]func(measures) (*plot.Plot, error){
		"next.svg": nextChart, "scaling.svg": scalingChart, "latency.svg": latencyChart,
	} {
		p, err := chart(m)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := save(p, filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

func save(p *plot.Plot, path string) error {
	c := vgsvg.New(8*vg.Inch, 4*vg.Inch)
	p.BackgroundColor = color.White
	const margin = 8
	p.Title.Padding = margin
	p.Draw(draw.Crop(draw.New(c), margin, -margin, margin, -margin))
	return write(c, path)
}

// layoutOf is the layout under which a generator's Next is measured.
func layoutOf(gen string) string {
	switch gen {
	case "xid", "ulid", "uuid4", "uuid7":
		return "any"
	}
	return "41-4-18"
}

func nextName(gen string, goroutines int) string {
	return fmt.Sprintf("Next/layout=%s/gen=%s/goroutines=%d", layoutOf(gen), gen, goroutines)
}

// addBars adds a bar for each generator, ours in colour.
func addBars(p *plot.Plot, values []float64) error {
	for i, gen := range generators[:len(values)] {
		b, err := plotter.NewBarChart(plotter.Values{values[i]}, vg.Points(34))
		if err != nil {
			return err
		}
		b.XMin, b.LineStyle.Width, b.Color = float64(i), 0, others
		if ours(gen) {
			b.Color = own
		}
		p.Add(b)
	}
	labels, err := plotter.NewLabels(labelled(values))
	if err != nil {
		return err
	}
	labels.Offset = vg.Point{X: -vg.Points(10), Y: vg.Points(3)}
	p.Add(labels)
	p.NominalX(generators[:len(values)]...)
	p.X.Min, p.X.Max = -0.5, float64(len(values))-0.5
	p.Y.Min = 0
	return nil
}

func labelled(values []float64) plotter.XYLabels {
	var l plotter.XYLabels
	for i, v := range values {
		l.XYs = append(l.XYs, plotter.XY{X: float64(i), Y: v})
		l.Labels = append(l.Labels, fmt.Sprintf("%.3g", v))
	}
	return l
}

// nextChart is the time of an ID, one goroutine.
func nextChart(m measures) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Time of one ID, one goroutine (layout 41/4/18 where there is one)"
	p.Y.Label.Text = "ns"
	var values []float64
	for _, gen := range generators {
		v, _, err := m.median(nextName(gen, 1), "ns/op")
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return p, addBars(p, values)
}

// latencyChart is the p99.9 latency at half of the default layout's ceiling.
func latencyChart(m measures) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "p99.9 of the latency, one ID every 488 ns (layout 41/10/12)"
	p.Y.Label.Text = "us"
	var values []float64
	for _, gen := range generators[:4] {
		v, _, err := m.median("Latency/gen="+gen, "p99.9-ns")
		if err != nil {
			return nil, err
		}
		values = append(values, v/1000)
	}
	return p, addBars(p, values)
}

// scalingChart is the rate over the number of goroutines.
func scalingChart(m measures) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "IDs a second, by goroutines (layout 41/4/18 where there is one)"
	p.X.Label.Text, p.Y.Label.Text = "goroutines", "millions a second"
	counts := []int{1, 2, 4, 8}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticksAt(counts)
	p.X.Min, p.X.Max = 1, 16 // there is room for the legend
	p.Y.Min = 0
	p.Legend.Top = true
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	for i, gen := range generators {
		var line plotter.XYs
		for _, n := range counts {
			v, _, err := m.median(nextName(gen, n), "ids/s")
			if err != nil {
				return nil, err
			}
			line = append(line, plotter.XY{X: float64(n), Y: v / 1e6})
		}
		l, points, err := plotter.NewLinePoints(line)
		if err != nil {
			return nil, err
		}
		l.Color, points.Color = others, others
		l.Dashes = []vg.Length{vg.Points(float64(1 + i)), vg.Points(3)}
		if ours(gen) {
			l.Color, points.Color, l.Width = own, own, vg.Points(2)
			if gen == "unalike" {
				l.Dashes = nil
			}
		}
		p.Add(l, points)
		p.Legend.Add(gen, l, points)
	}
	return p, nil
}

// ticksAt labels whole numbers.
func ticksAt(values []int) plot.ConstantTicks {
	var t plot.ConstantTicks
	for _, v := range values {
		t = append(t, plot.Tick{Value: float64(v), Label: strconv.Itoa(v)})
	}
	return t
}

package main

import (
	"fmt"
	"path/filepath"
	"slices"
)

// generator is one that the charts show.
type generator struct {
	name  string // in the benchmarks
	label []string
	ours  bool
	dash  string // of its line: lengths on and off; empty is a line without gaps
	mark  string // on its line: a path about the origin
}

const (
	disc     = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"
	square   = "M-4 -4h8v8h-8Z"
	triangle = "M0 -5.5L5 4H-5Z"
	diamond  = "M0 -5.5L5 0L0 5.5L-5 0Z"
	plus     = "M-5 0H5M0 -5V5"
	cross    = "M-4 -4L4 4M-4 4L4 -4"
)

var (
	stripes = generator{
		name: "unalike-stripes", label: []string{"unalike, a worker ID", "for each processor"},
		ours: true, mark: triangle,
	}
	generators = []generator{
		{name: "unalike-coarse", label: []string{"unalike, Coarse clock"}, ours: true, mark: disc},
		{name: "unalike", label: []string{"unalike"}, ours: true, mark: square},
		{name: "bwmarrin", label: []string{"bwmarrin/snowflake"}, dash: "9 4", mark: disc},
		{name: "sonyflake", label: []string{"sonyflake"}, dash: "2 3", mark: square},
		{name: "xid", label: []string{"xid"}, dash: "9 3 2 3", mark: triangle},
		{name: "ulid", label: []string{"ULID"}, dash: "5 5", mark: diamond},
		{name: "uuid4", label: []string{"UUID version 4"}, dash: "14 3", mark: plus},
		{name: "uuid7", label: []string{"UUID version 7"}, dash: "2 6", mark: cross},
	}
)

// next is the name under which Next of a generator was measured.
func (g generator) next(goroutines int) string {
	layout := "41-4-18"
	switch g.name {
	case "xid", "ulid", "uuid4", "uuid7":
		layout = "any"
	}
	return fmt.Sprintf("Next/layout=%s/gen=%s/goroutines=%d", layout, g.name, goroutines)
}

// drawAll makes the charts. What was not measured is not on them.
func drawAll(m measures, out string) error {
	for name, chart := range map[string]*svg{
		"next.svg": nextChart(m), "scaling.svg": scalingChart(m), "latency.svg": latencyChart(m),
	} {
		if err := chart.save(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

const wideLayout = "Layout 41/4/18, whose ceiling nobody reaches; xid, ULID and UUIDs have none."

func nextChart(m measures) *svg {
	return barChart("Time of one ID in nanoseconds, one goroutine",
		[]string{
			wideLayout,
			"In the default layout, 41/10/12, a worker ID has one ID every 244 ns.",
		},
		func(g generator) (float64, int) { return m.median(g.next(1), "ns/op") })
}

func latencyChart(m measures) *svg {
	return barChart("p99.9 of the latency in microseconds",
		[]string{"One ID every 488 ns, half of what the default layout, 41/10/12, has."},
		func(g generator) (float64, int) {
			v, runs := m.median("Latency/gen="+g.name, "p99.9-ns")
			return v / 1000, runs
		})
}

func scalingChart(m measures) *svg {
	c := lineChart{
		title: "Millions of IDs a second, by goroutines",
		below: []string{
			wideLayout,
			"In the default layout, 41/10/12, a worker ID has 4.1 million IDs a second.",
		},
		axis: "goroutines",
		x:    []string{"1", "2", "4", "8"},
	}
	for _, g := range slices.Concat([]generator{stripes}, generators) {
		l := line{generator: g}
		for i, goroutines := range []int{1, 2, 4, 8} {
			if v, runs := m.median(g.next(goroutines), "ids/s"); runs > 0 {
				l.points = append(l.points, point{x: i, y: v / 1e6})
			}
		}
		if len(l.points) > 0 {
			c.lines = append(c.lines, l)
		}
	}
	return c.draw()
}

package main

import (
	"fmt"
	"path/filepath"
)

// generator is one that the charts show.
type generator struct {
	name  string // in the benchmarks
	label string
	ours  bool
}

var generators = []generator{
	{name: "unalike-stripes", label: "unalike, Stripes", ours: true},
	{name: "unalike-coarse", label: "unalike, Coarse clock", ours: true},
	{name: "unalike", label: "unalike", ours: true},
	{name: "bwmarrin", label: "bwmarrin/snowflake"},
	{name: "sonyflake", label: "sonyflake"},
	{name: "xid", label: "xid"},
	{name: "ulid", label: "ULID"},
	{name: "uuid4", label: "UUID version 4"},
	{name: "uuid7", label: "UUID version 7"},
}

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
	return barChart("Millions of IDs a second, eight goroutines",
		[]string{
			wideLayout,
			"In the default layout, 41/10/12, a worker ID has 4.1 million IDs a second.",
		},
		func(g generator) (float64, int) {
			v, runs := m.median(g.next(8), "ids/s")
			return v / 1e6, runs
		})
}

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

const wideLayout = "Layout 41/4/18, whose ceiling nobody reaches; xid, ULID and UUIDs have none."

// charts are by the names of their files.
var charts = map[string]chart{
	"next.svg": {
		"Time of one ID in nanoseconds, one goroutine",
		[]string{wideLayout, "In the default layout, 41/10/12, a worker ID has one ID every 244 ns."},
		func(g generator) string { return g.next(1) }, "ns/op", 1,
	},
	"scaling.svg": {
		"Millions of IDs a second, eight goroutines",
		[]string{
			wideLayout,
			"In the default layout, 41/10/12, a worker ID has 4.1 million IDs a second.",
		},
		func(g generator) string { return g.next(8) }, "ids/s", 1e6,
	},
	"latency.svg": {
		"p99.9 of the latency in microseconds",
		[]string{"One ID every 488 ns, half of what the default layout, 41/10/12, has."},
		func(g generator) string { return "Latency/gen=" + g.name }, "p99.9-ns", 1000,
	},
}

// drawAll makes the charts. What was not measured is not on them.
func drawAll(m measures, out string) error {
	for name, c := range charts {
		if err := c.draw(m).save(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

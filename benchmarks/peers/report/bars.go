package main

import (
	"fmt"
	"strings"
)

// bar is a ratio of two medians of one run, and what it is to be.
type bar struct {
	layout        string // time bits, worker bits and sequence bits
	what, against string
	unit          string
	a, b          string // benchmarks; without b the ratio is a's figure itself
	limit         float64
	atLeast       bool
	slack         float64 // in the unit: so much more than b is allowed whatever the ratio is
}

const (
	byDefault = "41/10/12, the default"
	wide      = "41/4/18"
	widest    = "41/1/21"
	none      = "none"
)

var bars = []bar{
	{
		layout: wide, what: "Next, System clock, 1 goroutine",
		against: "bwmarrin", unit: "ns/op", limit: 0.48,
		a: "Next/layout=41-4-18/gen=unalike/goroutines=1",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=1",
	},
	{
		layout: wide, what: "Next, System clock, 2 goroutines",
		against: "bwmarrin, 2 goroutines", unit: "ns/op", limit: 0.55,
		a: "Next/layout=41-4-18/gen=unalike/goroutines=2",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=2",
	},
	{
		layout: wide, what: "Next, Coarse clock, 1 goroutine",
		against: "bwmarrin", unit: "ns/op", limit: 0.28,
		a: "Next/layout=41-4-18/gen=unalike-coarse/goroutines=1",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=1",
	},
	{
		layout: wide, what: "Next, Coarse clock, 2 goroutines",
		against: "bwmarrin, 2 goroutines", unit: "ns/op", limit: 0.30,
		a: "Next/layout=41-4-18/gen=unalike-coarse/goroutines=2",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=2",
	},
	{
		layout: wide, what: "Next, System clock, 2 stripes, 1 goroutine",
		against: "1 stripe, 1 goroutine", unit: "ns/op", limit: 1.20,
		a: "WideStripes/clock=system/stripes=2/goroutines=1",
		b: "WideStripes/clock=system/stripes=1/goroutines=1",
	},
	{
		layout: wide, what: "Next, System clock, 2 stripes, 2 goroutines",
		against: "1 stripe, 1 goroutine", unit: "ns/op", limit: 0.62,
		a: "WideStripes/clock=system/stripes=2/goroutines=2",
		b: "WideStripes/clock=system/stripes=1/goroutines=1",
	},
	{
		layout: wide, what: "Next, Coarse clock, 2 stripes, 2 goroutines",
		against: "1 stripe, 1 goroutine", unit: "ns/op", limit: 0.62,
		a: "WideStripes/clock=coarse/stripes=2/goroutines=2",
		b: "WideStripes/clock=coarse/stripes=1/goroutines=1",
	},
	{
		layout: wide, what: "Next, a clock that always asks the kernel, 1 goroutine",
		against: "bwmarrin", unit: "ns/op", limit: 1.00,
		a: "Next/layout=41-4-18/gen=unalike-kernel/goroutines=1",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=1",
	},
	{
		layout: wide, what: "Next, a clock that always asks the kernel, 2 goroutines",
		against: "bwmarrin, 2 goroutines", unit: "ns/op", limit: 0.90,
		a: "Next/layout=41-4-18/gen=unalike-kernel/goroutines=2",
		b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=2",
	},
	{
		layout: byDefault, what: "Fill 4096 at the ceiling, processor time",
		against: "the time that passes", unit: "cores", limit: 0.20,
		a: "CeilingFill",
	},
	{
		layout: byDefault, what: "Fill 4096 at the ceiling beside two busy processes, processor time",
		against: "the time that passes", unit: "cores", limit: 0.35,
		a: "BusyCeilingFill",
	},
	{
		layout: byDefault, what: "Next at the ceiling, Lead 5 ms, processor time of an ID",
		against: "bwmarrin there", unit: "cpu-ns/id", limit: 0.15,
		a: "Saturated/gen=unalike/lead=5ms", b: "Saturated/gen=bwmarrin",
	},
	{
		layout: byDefault, what: "Next at the ceiling, 2 stripes, 2 goroutines, rate",
		against: "one worker ID", unit: "ids/s", limit: 1.95, atLeast: true,
		a: "Stripes/stripes=2/goroutines=2", b: "Stripes/stripes=1/goroutines=1",
	},
	{
		layout: byDefault, what: "p99.9 of Next, one ID every 488 ns",
		against: "bwmarrin", unit: "p99.9-ns", limit: 1.10,
		a: "Latency/gen=unalike", b: "Latency/gen=bwmarrin",
	},
	{
		layout: byDefault, what: "p99.9 of Next, one ID every 488 ns, beside two busy processes",
		against: "bwmarrin there", unit: "p99.9-ns", limit: 1.2,
		a: "BusyLatency/gen=unalike", b: "BusyLatency/gen=bwmarrin",
	},
	{
		layout: widest, what: "Fill 1000, an ID",
		against: "a loop that fills the slice with i+base", unit: "ns/id", limit: 1.3,
		a: "Fill/gen=unalike", b: "Fill/gen=loop",
	},
	{
		layout: none, what: "segment, Next, 1 goroutine",
		against: "a bare atomic add", unit: "ns/op", limit: 1.25,
		a: "SegmentNext/gen=unalike/goroutines=1", b: "SegmentNext/gen=add/goroutines=1",
	},
	{
		layout: none, what: "segment, Next, 2 goroutines",
		against: "a bare contended atomic add", unit: "ns/op", limit: 1.2,
		a: "SegmentNext/gen=unalike/goroutines=2", b: "SegmentNext/gen=add/goroutines=2",
	},
	{
		layout: none, what: "segment, Fill 1000, a number",
		against: "a plain loop", unit: "ns/id", limit: 3.0,
		a: "SegmentFill/gen=unalike", b: "SegmentFill/gen=loop",
	},
	{
		layout: none, what: "segment, share of calls within 1 ms across 20 refills",
		against: "without refills", unit: "on-time", limit: 0.99999, atLeast: true,
		a: "SegmentLatency/gen=unalike", b: "SegmentLatency/gen=unalike/refills=0",
	},
	{
		layout: none, what: "segment, a take behind a relay of 1 ms",
		against: "Leaf's statements", unit: "ns/op", limit: 0.35,
		a: "Take/gen=unalike", b: "Take/gen=leaf",
	},
	{
		layout: byDefault, what: "service, requests for one ID, 32 connections, rate",
		against: "a bare handler that writes as many bytes", unit: "req/s", limit: 0.80, atLeast: true,
		a: "Requests/handler=ids", b: "Requests/handler=bare",
	},
	{
		layout: byDefault, what: "service, p99 at half of that rate, or 1 ms more",
		against: "the bare handler", unit: "p99-ns", limit: 2.0, slack: 1e6,
		a: "Latency/handler=ids", b: "Latency/handler=bare",
	},
	{
		layout: wide, what: "service, Generate of one ID over Connect, 32 connections, rate",
		against: "a bare procedure of the same size", unit: "req/s", limit: 0.90, atLeast: true,
		a: "RPC/handler=ids/callers=32/count=1", b: "RPC/handler=bare/callers=32/count=1",
	},
	{
		layout: wide, what: "service, Generate of 4096, 1 connection, IDs",
		against: "Generate of one", unit: "ids/s", limit: 500, atLeast: true,
		a: "RPC/handler=ids/callers=1/count=4096", b: "RPC/handler=ids/callers=1/count=1",
	},
	{
		layout: wide, what: "service, Generate of 4096, processor time of a call, the caller's included",
		against: "a bare procedure", unit: "cpu-ns/call", limit: 2.0,
		a: "RPC/handler=ids/callers=1/count=4096", b: "RPC/handler=bare/callers=1/count=1",
	},
	{
		layout: byDefault, what: "client, Next with a stock, 1 goroutine",
		against: "a generator in the process", unit: "ns/op", limit: 2.0,
		a: "ClientNext/layout=default/of=client", b: "ClientNext/layout=default/of=generator",
	},
	{
		layout: wide, what: "client, Next with a stock, 1 goroutine",
		against: "a generator in the process", unit: "ns/op", limit: 2.0,
		a: "ClientNext/layout=41-4-18/of=client", b: "ClientNext/layout=41-4-18/of=generator",
	},
}

const heading = "Ratios of medians, from one run. " +
	`A layout is its bits of time, worker ID and sequence.
The default one, 41/10/12, has 4,096 IDs a millisecond for each worker ID: one every 244 ns.
Nobody reaches the ceilings of 41/4/18 and 41/1/21.

| layout | case | measured | against | measured | ratio | is to be | runs | |
|---|---|---|---|---|---|---|---|---|
`

// table prints the bars.
func table(m measures) string {
	var s strings.Builder
	s.WriteString(heading)
	for _, b := range bars {
		s.WriteString(b.row(m))
	}
	s.WriteString(allocations(m))
	return s.String()
}

// figures are the two medians, and how many runs the first one is of: 0 if there is none of
// either.
func (b bar) figures(m measures) (ours, base float64, runs int) {
	ours, runs = m.median(b.a, b.unit)
	if b.b == "" {
		return ours, 1, runs
	}
	base, of := m.median(b.b, b.unit)
	return ours, base, min(runs, of)
}

func (b bar) row(m measures) string {
	goal := fmt.Sprint("at most ", b.limit)
	if b.atLeast {
		goal = fmt.Sprint("at least ", b.limit)
	}
	ours, base, runs := b.figures(m)
	if runs == 0 {
		return fmt.Sprintf("| %s | %s | not measured | %s | | | %s | 0 | |\n",
			b.layout, b.what, b.against, goal)
	}
	ratio, is := ours/base, "missed"
	if ratio <= b.limit != b.atLeast || b.slack > 0 && ours <= base+b.slack {
		is = "met"
	}
	return fmt.Sprintf("| %s | %s | %.4g %s | %s | %.4g %s | %.3f | %s | %d | %s |\n",
		b.layout, b.what, ours, b.unit, b.against, base, b.unit, ratio, goal, runs, is)
}

// allocations is the row of what no benchmark of ours may do. A wait for the next tick, which
// a Fill of a whole tick is, may.
func allocations(m measures) string {
	worst, of := 0.0, 0
	for name, units := range m {
		if !strings.Contains(name, "gen=unalike") && !strings.Contains(name, "Stripes/") {
			continue
		}
		for _, v := range units["allocs/op"] {
			worst, of = max(worst, v), of+1
		}
	}
	is := "met"
	if worst > 0 || of == 0 {
		is = "missed"
	}
	return fmt.Sprintf("| each | allocations, all of ours | %g | | | | 0 | %d | %s |\n", worst, of, is)
}

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
	goal
}

// goal is what a ratio is to be.
type goal struct {
	limit float64
	least bool    // the limit is the lowest, and not the highest
	slack float64 // in the unit: so much more than b is allowed whatever the ratio is
}

func atMost(limit float64) goal { return goal{limit: limit} }

func atLeast(limit float64) goal { return goal{limit: limit, least: true} }

// String says it in the table.
func (g goal) String() string {
	if g.least {
		return fmt.Sprint("at least ", g.limit)
	}
	return fmt.Sprint("at most ", g.limit)
}

const (
	byDefault = "41/10/12, the default"
	wide      = "41/4/18"
	widest    = "41/1/21"
	none      = "none"
)

var bars = []bar{
	{
		wide, "Next, System clock, 1 goroutine", "bwmarrin", "ns/op",
		"Next/layout=41-4-18/gen=unalike/goroutines=1",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=1", atMost(0.48),
	},
	{
		wide, "Next, System clock, 2 goroutines", "bwmarrin, 2 goroutines", "ns/op",
		"Next/layout=41-4-18/gen=unalike/goroutines=2",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=2", atMost(0.55),
	},
	{
		wide, "Next, Coarse clock, 1 goroutine", "bwmarrin", "ns/op",
		"Next/layout=41-4-18/gen=unalike-coarse/goroutines=1",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=1", atMost(0.28),
	},
	{
		wide, "Next, Coarse clock, 2 goroutines", "bwmarrin, 2 goroutines", "ns/op",
		"Next/layout=41-4-18/gen=unalike-coarse/goroutines=2",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=2", atMost(0.30),
	},
	{
		wide, "Next, System clock, 2 stripes, 1 goroutine", "1 stripe, 1 goroutine", "ns/op",
		"WideStripes/clock=system/stripes=2/goroutines=1",
		"WideStripes/clock=system/stripes=1/goroutines=1", atMost(1.20),
	},
	{
		wide, "Next, System clock, 2 stripes, 2 goroutines", "1 stripe, 1 goroutine", "ns/op",
		"WideStripes/clock=system/stripes=2/goroutines=2",
		"WideStripes/clock=system/stripes=1/goroutines=1", atMost(0.62),
	},
	{
		wide, "Next, Coarse clock, 2 stripes, 2 goroutines", "1 stripe, 1 goroutine", "ns/op",
		"WideStripes/clock=coarse/stripes=2/goroutines=2",
		"WideStripes/clock=coarse/stripes=1/goroutines=1", atMost(0.62),
	},
	{
		wide, "Next, a clock that always asks the kernel, 1 goroutine", "bwmarrin", "ns/op",
		"Next/layout=41-4-18/gen=unalike-kernel/goroutines=1",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=1", atMost(1.00),
	},
	{
		wide, "Next, a clock that always asks the kernel, 2 goroutines", "bwmarrin, 2 goroutines",
		"ns/op",
		"Next/layout=41-4-18/gen=unalike-kernel/goroutines=2",
		"Next/layout=41-4-18/gen=bwmarrin/goroutines=2", atMost(0.90),
	},
	{
		byDefault, "Fill 4096 at the ceiling, processor time", "the time that passes", "cores",
		"CeilingFill", "", atMost(0.20),
	},
	{
		byDefault, "Fill 4096 at the ceiling beside two busy processes, processor time",
		"the time that passes", "cores",
		"BusyCeilingFill", "", atMost(0.35),
	},
	{
		byDefault, "Next at the ceiling, Lead 5 ms, processor time of an ID", "bwmarrin there",
		"cpu-ns/id",
		"Saturated/gen=unalike/lead=5ms", "Saturated/gen=bwmarrin", atMost(0.15),
	},
	{
		byDefault, "Next at the ceiling, 2 stripes, 2 goroutines, rate", "one worker ID", "ids/s",
		"Stripes/stripes=2/goroutines=2", "Stripes/stripes=1/goroutines=1", atLeast(1.95),
	},
	{
		byDefault, "p99.9 of Next, one ID every 488 ns", "bwmarrin", "p99.9-ns",
		"Latency/gen=unalike", "Latency/gen=bwmarrin", atMost(1.10),
	},
	{
		byDefault, "p99.9 of Next, one ID every 488 ns, beside two busy processes",
		"bwmarrin there", "p99.9-ns",
		"BusyLatency/gen=unalike", "BusyLatency/gen=bwmarrin", atMost(1.2),
	},
	{
		widest, "Fill 1000, an ID", "a loop that fills the slice with i+base", "ns/id",
		"Fill/gen=unalike", "Fill/gen=loop", atMost(1.3),
	},
	{
		none, "segment, Next, 1 goroutine", "a bare atomic add", "ns/op",
		"SegmentNext/gen=unalike/goroutines=1", "SegmentNext/gen=add/goroutines=1", atMost(1.25),
	},
	{
		none, "segment, Next, 2 goroutines", "a bare contended atomic add", "ns/op",
		"SegmentNext/gen=unalike/goroutines=2", "SegmentNext/gen=add/goroutines=2", atMost(1.2),
	},
	{
		none, "segment, Fill 1000, a number", "a plain loop", "ns/id",
		"SegmentFill/gen=unalike", "SegmentFill/gen=loop", atMost(3.0),
	},
	{
		none, "segment, share of calls within 1 ms across 20 refills", "without refills",
		"on-time",
		"SegmentLatency/gen=unalike", "SegmentLatency/gen=unalike/refills=0", atLeast(0.99999),
	},
	{
		none, "segment, a take behind a relay of 1 ms", "Leaf's statements", "ns/op",
		"Take/gen=unalike", "Take/gen=leaf", atMost(0.35),
	},
	{
		byDefault, "service, requests for one ID, 32 connections, rate",
		"a bare handler that sends the same", "req/s",
		"Requests/handler=ids", "Requests/handler=bare", atLeast(0.80),
	},
	{
		byDefault, "service, p99 at half of that rate, or 1 ms more", "the bare handler", "p99-ns",
		"Latency/handler=ids", "Latency/handler=bare",
		goal{limit: 2.0, slack: 1e6},
	},
	{
		wide, "service, Generate of one ID over Connect, 32 connections, rate",
		"a bare procedure that sends the same", "req/s",
		"RPC/handler=ids/callers=32/count=1", "RPC/handler=bare/callers=32/count=1", atLeast(0.90),
	},
	{
		wide, "service, Generate of 4096, 1 connection, IDs", "Generate of one", "ids/s",
		"RPC/handler=ids/callers=1/count=4096", "RPC/handler=ids/callers=1/count=1", atLeast(500),
	},
	{
		wide, "service, Generate of 4096, processor time of a call, the caller's included",
		"a bare procedure", "cpu-ns/call",
		"RPC/handler=ids/callers=1/count=4096", "RPC/handler=bare/callers=1/count=1", atMost(2.0),
	},
	{
		byDefault, "client, Next with a stock, 1 goroutine", "a generator in the process", "ns/op",
		"ClientNext/layout=default/of=client", "ClientNext/layout=default/of=generator",
		atMost(2.0),
	},
	{
		wide, "client, Next with a stock, 1 goroutine", "a generator in the process", "ns/op",
		"ClientNext/layout=41-4-18/of=client", "ClientNext/layout=41-4-18/of=generator",
		atMost(2.0),
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
	ours, base, runs := b.figures(m)
	if runs == 0 {
		return fmt.Sprintf("| %s | %s | not measured | %s | | | %v | 0 | |\n",
			b.layout, b.what, b.against, b.goal)
	}
	ratio := ours / base
	met := ratio <= b.limit != b.least || b.slack > 0 && ours <= base+b.slack
	return fmt.Sprintf("| %s | %s | %.4g %s | %s | %.4g %s | %.3f | %v | %d | %s |\n", b.layout,
		b.what, ours, b.unit, b.against, base, b.unit, ratio, b.goal, runs, verdict(met))
}

// verdict is the last word of a row.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
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
	return fmt.Sprintf("| each | allocations, all of ours | %g | | | | 0 | %d | %s |\n", worst, of,
		verdict(worst == 0 && of > 0))
}

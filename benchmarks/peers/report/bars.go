package main

import (
	"fmt"
	"strings"
)

// bar is a ratio of two medians of one run, and what it is to be.
type bar struct {
	what, against string
	unit          string
	a, b          string // benchmarks
	limit         float64
	atLeast       bool
	slack         float64 // so much more is allowed whatever the ratio is, in the unit
}

var bars = []bar{
	{
		what: "41/4/18, Next, System clock, 1 goroutine", against: "bwmarrin with the same bits", unit: "ns/op", limit: 0.90,
		a: "Next/layout=41-4-18/gen=unalike/goroutines=1", b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=1",
	},
	{
		what: "the same, 2 goroutines", against: "bwmarrin, 2 goroutines", unit: "ns/op", limit: 1.0,
		a: "Next/layout=41-4-18/gen=unalike/goroutines=2", b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=2",
	},
	{
		what: "41/4/18, Next, Coarse clock, 1 goroutine", against: "bwmarrin", unit: "ns/op", limit: 0.40,
		a: "Next/layout=41-4-18/gen=unalike-coarse/goroutines=1", b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=1",
	},
	{
		what: "the same, 2 goroutines", against: "bwmarrin, 2 goroutines", unit: "ns/op", limit: 0.50,
		a: "Next/layout=41-4-18/gen=unalike-coarse/goroutines=2", b: "Next/layout=41-4-18/gen=bwmarrin/goroutines=2",
	},
	{
		what: "processor time of an ID at the default ceiling, Lead 5 ms", against: "bwmarrin there", unit: "cpu-ns/id", limit: 0.25,
		a: "Saturated/gen=unalike/lead=5ms", b: "Saturated/gen=bwmarrin",
	},
	{
		what: "41/1/21, Fill 1000, per ID", against: "a loop that fills the slice with i+base", unit: "ns/id", limit: 3.0,
		a: "Fill/gen=unalike", b: "Fill/gen=loop",
	},
	{
		what: "default layout, 2 stripes, 2 goroutines, rate", against: "one worker ID", unit: "ids/s", limit: 1.95, atLeast: true,
		a: "Stripes/stripes=2/goroutines=2", b: "Stripes/stripes=1/goroutines=1",
	},
	{
		what: "p99.9 of Next, one ID every 488 ns", against: "bwmarrin", unit: "p99.9-ns", limit: 1.10,
		a: "Latency/gen=unalike", b: "Latency/gen=bwmarrin",
	},
	{
		what: "segment, Next, 1 goroutine", against: "a bare atomic add", unit: "ns/op", limit: 1.5,
		a: "SegmentNext/gen=unalike/goroutines=1", b: "SegmentNext/gen=add/goroutines=1",
	},
	{
		what: "segment, Next, 2 goroutines", against: "a bare contended atomic add", unit: "ns/op", limit: 1.2,
		a: "SegmentNext/gen=unalike/goroutines=2", b: "SegmentNext/gen=add/goroutines=2",
	},
	{
		what: "segment, Fill 1000, per number", against: "a plain loop", unit: "ns/id", limit: 3.0,
		a: "SegmentFill/gen=unalike", b: "SegmentFill/gen=loop",
	},
	{
		what: "segment, share of calls within 1 ms across 20 refills", against: "without refills", unit: "on-time", limit: 0.99999, atLeast: true,
		a: "SegmentLatency/gen=unalike", b: "SegmentLatency/gen=unalike/refills=0",
	},
	{
		what: "segment, a take behind a relay of 1 ms", against: "Leaf's statements", unit: "ns/op", limit: 0.35,
		a: "Take/gen=unalike", b: "Take/gen=leaf",
	},
	{
		what: "service, requests for one ID, 32 connections, rate", against: "a bare handler that writes as many bytes", unit: "req/s", limit: 0.80, atLeast: true,
		a: "Requests/handler=ids", b: "Requests/handler=bare",
	},
	{
		what: "service, p99 at half of that rate, or 1 ms more", against: "the bare handler", unit: "p99-ns", limit: 2.0, slack: 1e6,
		a: "Latency/handler=ids", b: "Latency/handler=bare",
	},
	{
		what: "service, Generate of one ID over Connect, 32 connections, rate", against: "a bare procedure of the same size", unit: "req/s", limit: 0.90, atLeast: true,
		a: "RPC/handler=ids/callers=32/count=1", b: "RPC/handler=bare/callers=32/count=1",
	},
	{
		what: "service, Generate of 4096 in a layout whose ceiling nobody reaches, 1 connection, IDs", against: "Generate of one", unit: "ids/s", limit: 500, atLeast: true,
		a: "RPC/handler=ids/callers=1/count=4096", b: "RPC/handler=ids/callers=1/count=1",
	},
	{
		what: "the same, processor time of a call, the caller's included", against: "a bare procedure", unit: "cpu-ns/call", limit: 2.0,
		a: "RPC/handler=ids/callers=1/count=4096", b: "RPC/handler=bare/callers=1/count=1",
	},
	{
		what: "client, Next with a stock, 1 goroutine, default layout", against: "a generator in the process", unit: "ns/op", limit: 2.0,
		a: "ClientNext/layout=default/of=client", b: "ClientNext/layout=default/of=generator",
	},
	{
		what: "the same, a layout whose ceiling nobody reaches", against: "a generator in the process", unit: "ns/op", limit: 2.0,
		a: "ClientNext/layout=41-4-18/of=client", b: "ClientNext/layout=41-4-18/of=generator",
	},
}

// table prints the bars. A figure that is missing is said to be.
func table(m measures) string {
	var s strings.Builder
	s.WriteString("Ratios of medians, from one run.\n\n| case | measured | against | measured | ratio | is to be | runs | |\n|---|---|---|---|---|---|---|---|\n")
	for _, b := range bars {
		s.WriteString(b.row(m))
	}
	s.WriteString(allocations(m))
	return s.String()
}

func (b bar) row(m measures) string {
	a, runs, err := m.median(b.a, b.unit)
	if err != nil {
		return fmt.Sprintf("| %s | %v | %s | | | | | |\n", b.what, err, b.against)
	}
	base, _, err := m.median(b.b, b.unit)
	if err != nil {
		return fmt.Sprintf("| %s | | %s | %v | | | | |\n", b.what, b.against, err)
	}
	ratio, is, word := a/base, "missed", "at most"
	if b.atLeast {
		word = "at least"
	}
	if ratio <= b.limit != b.atLeast || b.slack > 0 && a <= base+b.slack {
		is = "met"
	}
	return fmt.Sprintf("| %s | %.4g %s | %s | %.4g %s | %.3f | %s %v | %d | %s |\n", b.what, a, b.unit, b.against, base, b.unit, ratio, word, b.limit, runs, is)
}

// allocations is the row of what no benchmark of ours may do.
func allocations(m measures) string {
	worst, of := 0.0, 0
	for name, units := range m {
		if !strings.Contains(name, "gen=unalike") && !strings.HasPrefix(name, "Stripes/") {
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
	return fmt.Sprintf("| allocations, all of ours | %g | | | | 0 | %d | %s |\n", worst, of, is)
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// suites are the folders with benchmarks; the output of each is in a file of its name.
var suites = []string{"benchmarks", "peers", "coordinators", "service"}

var (
	// servers are those that the benchmarks of benchmarks/coordinators run on.
	servers = []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes", "file"}
	// onServers are these benchmarks.
	onServers = []string{"Calls", "RenewAll", "Starters", "Takeover"}
	// onOne are those that run on a server without ours.
	onOne = []string{"Scan/coordinator=SETNX", "Patch/coordinator=PATCH"}
)

// leftOut names what was not measured: a server that is not installed is skipped, as is what
// needs more processors than there are.
func leftOut(m measures, silent []string) string {
	var missing []string
	for _, suite := range silent {
		missing = append(missing, "all of "+suite)
	}
	for _, b := range bars {
		if _, _, runs := b.figures(m); runs == 0 {
			missing = append(missing, fmt.Sprintf("bar: %s (layout %s)", b.what, b.layout))
		}
	}
	if !slices.Contains(silent, "coordinators") {
		missing = append(missing, withoutServer(m)...)
	}
	if len(missing) == 0 {
		return "Everything was measured. The coordinators are in coordinators.txt.\n"
	}
	return "**LEFT OUT**, because a server is not installed, or a benchmark was skipped or did not " +
		"run:\n\n- " + strings.Join(missing, "\n- ") + "\n"
}

// withoutServer names the benchmarks of coordinators of which there is no figure.
func withoutServer(m measures) (missing []string) {
	names := slices.Clone(onOne)
	for _, benchmark := range onServers {
		for _, server := range servers {
			names = append(names, benchmark+"/coordinator="+server)
		}
	}
	for _, name := range names {
		if !m.has(name) {
			benchmark, server, _ := strings.Cut(name, "/coordinator=")
			missing = append(missing, fmt.Sprintf("coordinators: %s on %s", benchmark, server))
		}
	}
	return missing
}

package main

import (
	"maps"
	"slices"
	"strings"
)

// expected are the benchmarks of benchmarks/coordinators, with the servers that each runs on.
var expected = map[string][]string{
	"Calls":    {"etcd", "redis", "zk"},
	"Starters": {"etcd", "redis", "zk"},
	"RenewAll": {"etcd", "redis", "zk"},
	"Takeover": {"etcd", "redis", "zk"},
	"Scan":     {"SETNX"},
}

// coordinators says whether the benchmarks of the coordinators ran on all servers: one that is
// not installed is skipped.
func coordinators(m measures) string {
	missing := leftOut(m)
	if len(missing) == 0 {
		return "The coordinators were measured on all servers: see coordinators.txt.\n"
	}
	return "**LEFT OUT, because the server is not installed or the benchmark did not run: " + strings.Join(missing, ", ") +
		".** scripts/servers installs Redis and ZooKeeper.\n"
}

// leftOut returns the benchmarks of coordinators of which there is no figure.
func leftOut(m measures) []string {
	var missing []string
	for _, benchmark := range slices.Sorted(maps.Keys(expected)) {
		for _, server := range expected[benchmark] {
			name := benchmark + "/coordinator=" + server
			ran := slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(measured string) bool {
				return measured == name || strings.HasPrefix(measured, name+"/")
			})
			if !ran {
				missing = append(missing, benchmark+" on "+server)
			}
		}
	}
	return missing
}

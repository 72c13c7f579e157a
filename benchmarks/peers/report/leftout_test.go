package main

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// TestLeftOut reads what a machine without ZooKeeper prints.
func TestLeftOut(t *testing.T) {
	m := measures{}
	if err := m.add(benchfmt.NewReader(strings.NewReader(`goos: linux
BenchmarkCalls/coordinator=etcd/held=0/call=acquire-2  1  5 ns/op
BenchmarkCalls/coordinator=redis/held=0/call=acquire-2  1  5 ns/op
BenchmarkStarters/coordinator=etcd/starters=1-2  1  5 ns/op
BenchmarkStarters/coordinator=redis/starters=1-2  1  5 ns/op
BenchmarkRenewAll/coordinator=etcd-2  1  5 ns/op
BenchmarkRenewAll/coordinator=redis-2  1  5 ns/op
BenchmarkTakeover/coordinator=etcd-2  1  5 ns/op
BenchmarkScan/coordinator=SETNX/held=1000/call=acquire-2  1  5 ns/op
`), "test")); err != nil {
		t.Fatal(err)
	}
	want := []string{"Calls on zk", "RenewAll on zk", "Starters on zk", "Takeover on redis", "Takeover on zk"}
	if got := leftOut(m); !slices.Equal(got, want) {
		t.Errorf("left out: %q, want %q", got, want)
	}
	if s := coordinators(m); !strings.Contains(s, "LEFT OUT") || !strings.Contains(s, strings.Join(want, ", ")) {
		t.Errorf("the table does not name them: %q", s)
	}
	for _, name := range []string{"Calls/coordinator=zk/x", "RenewAll/coordinator=zk", "Starters/coordinator=zk/x", "Takeover/coordinator=redis", "Takeover/coordinator=zk"} {
		m[name] = nil
	}
	if s := coordinators(m); strings.Contains(s, "LEFT OUT") {
		t.Errorf("nothing was left out, but: %q", s)
	}
}

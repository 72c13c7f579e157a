package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// complete is what is read if everything was measured.
func complete() measures {
	m := measures{}
	for _, b := range bars {
		for _, name := range []string{b.a, b.b} {
			if m[name] == nil {
				m[name] = map[string][]float64{}
			}
			m[name][b.unit] = []float64{1}
		}
	}
	for _, benchmark := range onServers {
		for _, server := range servers {
			m[benchmark+"/coordinator="+server+"/x"] = nil
		}
	}
	for _, name := range onOne {
		m[name] = nil
	}
	return m
}

func TestLeftOut(t *testing.T) {
	if s := leftOut(complete(), nil); strings.Contains(s, "LEFT OUT") {
		t.Errorf("nothing was left out, but: %s", s)
	}
	for _, b := range bars {
		m := complete()
		delete(m[b.a], b.unit)
		s := leftOut(m, nil)
		if !strings.Contains(s, "LEFT OUT") ||
			!strings.Contains(s, "- bar: "+b.what+" (layout "+b.layout+")\n") {
			t.Errorf("there is no figure of %s, and it is not named:\n%s", b.what, s)
		}
	}
	m := complete()
	delete(m, "Calls/coordinator=zk/x")
	delete(m, "Scan/coordinator=SETNX")
	s := leftOut(m, nil)
	if !strings.HasSuffix(s, "\n\n- coordinators: Scan on SETNX\n- coordinators: Calls on zk\n") {
		t.Errorf("left out are Scan and Calls on zk, and named is: %s", s)
	}
	s = leftOut(complete(), []string{"service"})
	if !strings.HasSuffix(s, "\n\n- all of service\n") {
		t.Errorf("left out is the service, and named is: %s", s)
	}
}

// TestRead reads the output of two suites: one is not there, and one has skipped what it has.
func TestRead(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"peers.txt": "goos: linux\nBenchmarkFill/gen=loop-2  1  5 ns/op  7 ns/id\n" +
			"BenchmarkFill/gen=loop-2  1  6 ns/op  9 ns/id\n",
		"benchmarks.txt":   "BenchmarkNext/layout=41-4-18/clock=system-2  1  5 ns/op\n",
		"coordinators.txt": "goos: linux\nPASS\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, silent, err := read(folder)
	if err != nil || strings.Join(silent, " ") != "coordinators service" {
		t.Fatalf("%v; silent are %v, want coordinators and service", err, silent)
	}
	if v, runs := m.median("Fill/gen=loop", "ns/id"); v != 8 || runs != 2 {
		t.Errorf("the median is %g of %d runs, want 8 of 2", v, runs)
	}
	if !m.has("Next/layout=41-4-18") || m.has("Next/layout=41") {
		t.Errorf("what was measured is %v", m)
	}
	if _, _, err := read(t.TempDir()); err == nil {
		t.Error("a folder without figures is no error")
	}
}

package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// children are the processes that this one has started and that have not ended.
func children(tb testing.TB) (pids []string) {
	tb.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(threads) == 0 {
		tb.Skip("SKIPPED: this kernel does not list the children of a process")
	}
	for _, thread := range threads {
		list, err := os.ReadFile(thread)
		if err == nil { // else the thread has ended
			pids = append(pids, strings.Fields(string(list))...)
		}
	}
	return pids
}

// TestBeside: busy processes run beside a benchmark, and none is left when it has failed.
func TestBeside(t *testing.T) {
	children(t)
	during := 0
	testing.Benchmark(func(b *testing.B) { //nolint:thelper // it is the benchmark
		beside(b, 2)
		during = len(children(b))
		b.FailNow()
	})
	if after := children(t); during != 2 || len(after) > 0 {
		t.Errorf("%d processes ran beside the benchmark, want 2; left are %v", during, after)
	}
}

// TestBusyEnds: a busy process ends by itself when whoever started it has gone.
func TestBusyEnds(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), busyVariable+"=1")
	cmd.Stdin = strings.NewReader("")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "busy\n" {
		t.Errorf("%v, and it has printed %q; want no error and a word", err, out)
	}
}

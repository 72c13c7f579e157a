package main

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// keptDescriptors is how many files the process may need beside its connections: those of an
// embedded etcd, of state files, and of connections to coordinators.
const keptDescriptors = 32

// roomFor returns how many of so many connections the descriptors of the process allow; limit is
// how many there are, 0 if that is not known.
func roomFor(wanted, limit int) int {
	if limit == 0 {
		return wanted
	}
	return min(wanted, limit-min(keptDescriptors, limit/2))
}

// limitMemory has the runtime collect garbage sooner as it comes near the memory that the container
// has. A GOMEMLIMIT that somebody has set stays.
func limitMemory() {
	if n := memoryMax(os.DirFS("/")); n > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(n / 10 * 9)
	}
}

// memoryMax returns the memory that the control group of the process may have, or one that it is
// in; 0: there is no bound.
func memoryMax(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	look := func(file string) {
		text, err := fs.ReadFile(root, file)
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil &&
			bad == nil && n > 0 {
			least = min(least, n)
		}
	}
	// version 1, which has a huge number for no bound
	look("sys/fs/cgroup/memory/memory.limit_in_bytes")
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		group, ours := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for ; ours; group = path.Dir(group) {
			look(path.Join("sys/fs/cgroup", group, "memory.max"))
			if group == "" || group == "." {
				break
			}
		}
	}
	if least >= 1<<60 {
		return 0
	}
	return least
}

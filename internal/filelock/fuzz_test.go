package filelock

import (
	"math"
	"strconv"
	"testing"
)

// FuzzSignature: whatever somebody writes into a lock file, no process is named that cannot
// be one, and what this package writes is read.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{
		"", "\n", "123\n", "-5\n", "0", "99999999999999999999", "1 2", "0x7",
		"\xff",
	} {
		f.Add([]byte(s), 123)
	}
	f.Fuzz(func(t *testing.T, b []byte, pid int) {
		if n := signature(b); n < 0 {
			t.Errorf("%q is read as process %d", b, n)
		}
		if pid &= math.MaxInt32; signature([]byte(strconv.Itoa(pid)+"\n")) != pid {
			t.Errorf("process %d is read as %d", pid, signature([]byte(strconv.Itoa(pid)+"\n")))
		}
	})
}

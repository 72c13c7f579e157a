//go:build unix

package pgtest_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestFrozenAtTheEnd: nothing of a server is left that was frozen when its test ended.
func TestFrozenAtTheEnd(t *testing.T) {
	var all []int
	t.Run("frozen", func(t *testing.T) {
		s := pgtest.Start(t)
		s.Freeze(t)
		out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.PID())).Output()
		if err != nil {
			t.Fatal(err)
		}
		for field := range strings.FieldsSeq(string(out)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	})
	if len(all) < 3 {
		t.Fatalf("the server has the processes %v only: does this test still find them?", all)
	}
	streamtest.Eventually(t, "all processes have ended", func() bool {
		for _, pid := range all {
			if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				return false
			}
		}
		return true
	})
}

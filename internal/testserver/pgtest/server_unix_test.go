//go:build unix

package pgtest_test

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// processes are the numbers of all processes of a server but the first.
func processes(t *testing.T, s *pgtest.Server) (all []int) {
	t.Helper()
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
	if len(all) < 3 {
		t.Fatalf("the server has the processes %v only: does this test still find them?", all)
	}
	return all
}

// TestEnd: nothing of a server is left that has ended, by kill -9 or with its test, also if it was
// frozen then. What was written is there when it starts again.
func TestEnd(t *testing.T) {
	t.Parallel()
	var all []int
	wantGone := func(how string) {
		t.Helper()
		proctest.Eventually(t, proctest.ReadyTime, "nothing is left after "+how, func() bool {
			return !slices.ContainsFunc(all, func(pid int) bool {
				return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			})
		})
	}
	t.Run("server", func(t *testing.T) {
		s := pgtest.Start(t)
		read := func(before string) (n int) {
			t.Helper()
			conn, err := pgx.Connect(t.Context(), s.URL())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if err := conn.QueryRow(t.Context(), "select n from t").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		read("create table t as select 7 as n")
		all = processes(t, s)
		s.Kill()
		wantGone("kill")
		s.Restart(t)
		if n := read(""); n != 7 {
			t.Errorf("read %d", n)
		}
		all = processes(t, s)
		s.Freeze(t)
		s.Kill()
		wantGone("kill of a frozen server")
		s.Restart(t)
		all = processes(t, s)
		s.Freeze(t)
	})
	wantGone("end of the test")
}

package scripts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// script runs a script of the project's and returns what it has printed, and its exit code.
func script(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED, not installed: bash")
	}
	cmd := exec.CommandContext(t.Context(), bash, append([]string{filepath.Join("scripts", name)}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	// The steps of a test are no steps of what it is a part of.
	cmd.Env = append(os.Environ(), "UNALIKE_STEPS=")
	// What another test leaves behind is not to be found in this one's session.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// TestSummary: the table has every step that ran, and the exit code is the command's.
func TestSummary(t *testing.T) {
	out, code := script(t, "summary", "bash", "-ec",
		"scripts/step first true; scripts/summary scripts/step second true; scripts/step third sh -c 'exit 7'; scripts/step fourth true")
	_, table, found := strings.Cut(out, "\n== all steps\n")
	if code != 7 || !found {
		t.Fatalf("exit code %d, want 7; printed\n%s", code, out)
	}
	want := regexp.MustCompile(`^ +\d+ s  ok +first\n +\d+ s  ok +second\n +\d+ s  FAILED +third\n +\d+ s  FAILED +all\n$`)
	if !want.MatchString(table) {
		t.Errorf("the table is\n%s\nwant %v", table, want)
	}
	if !strings.Contains(out, "== third: FAILED with exit code 7") {
		t.Errorf("the step that failed does not name itself:\n%s", out)
	}
}

// TestLeftover: what a step leaves behind is named, also if it is in another session. What is
// not of the step's making is not.
func TestLeftover(t *testing.T) {
	t.Parallel()
	out, code := script(t, "leftover", "bash", "-c", `exec 3>&1 >/dev/null 2>&1
		sleep 601 3>&- & echo "pid=$!" >&3
		setsid sleep 602 3>&- & echo "pid=$!" >&3
		set -m
		sleep 603 3>&- & echo "pid=$!" >&3
		(env -i sleep 5 3>&- &)`)
	pids := regexp.MustCompile(`(?m)^pid=(\d+)$`).FindAllStringSubmatch(out, -1)
	for i, pid := range pids {
		if n, err := strconv.Atoi(pid[1]); err == nil {
			defer func() { _ = syscall.Kill(n, syscall.SIGKILL) }()
		}
		if named := pid[1] + "  sleep 60" + strconv.Itoa(i+1); !strings.Contains(out, named) {
			t.Errorf("%q is not named", named)
		}
	}
	if code != 1 || len(pids) != 3 || t.Failed() || strings.Contains(out, "sleep 5 ") {
		t.Errorf("exit code %d, want 1; %d processes, want 3:\n%s", code, len(pids), out)
	}
}

// TestNothingLeftOver: the exit code is the command's.
func TestNothingLeftOver(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"true": 0, "exit 3": 3, "sleep 600 & kill $!": 0} {
		if out, code := script(t, "leftover", "bash", "-c", command); code != want {
			t.Errorf("%s: exit code %d, want %d:\n%s", command, code, want, out)
		}
	}
}

// TestBusy: the loops run while the command does, and no longer.
func TestBusy(t *testing.T) {
	out, code := script(t, "leftover", "scripts/busy", "3", "bash", "-c", "cat /proc/$PPID/task/$PPID/children; exit 5")
	if loops := len(strings.Fields(strings.SplitN(strings.TrimSpace(out), "\n", 2)[0])) - 1; code != 5 || loops != 3 {
		t.Errorf("exit code %d beside %d loops, want 5 and 3:\n%s", code, loops, out)
	}
}

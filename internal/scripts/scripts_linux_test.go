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
	return run(t, filepath.Join("scripts", name), args...)
}

// run is script for one at any path.
func run(t *testing.T, path string, args ...string) (string, int) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED, not installed: bash")
	}
	cmd := exec.CommandContext(t.Context(), bash, append([]string{path}, args...)...)
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

// TestSummary: the table has every step that ran, and the exit code is the command's. After it come
// the flaky tests.
func TestSummary(t *testing.T) {
	out, code := script(t, "summary", "bash", "-ec",
		"scripts/step first true; scripts/summary scripts/step second true; scripts/step third sh -c "+
			"'exit 7' || code=7; scripts/step fourth sh -c 'exit 77'; "+
			`printf 'FLAKY\tcore\tTestA\n' >>"$UNALIKE_STEPS"; exit $code`)
	_, table, found := strings.Cut(out, "\n== all steps\n")
	if code != 7 || !found {
		t.Fatalf("exit code %d, want 7; printed\n%s", code, out)
	}
	want := regexp.MustCompile(`^ +\d+ s  ok +first\n +\d+ s  ok +second\n +\d+ s  FAILED +third\n ` +
		`+\d+ s  not run +fourth\n +\d+ s  FAILED +all\nFLAKY\tcore\tTestA\n$`)
	if !want.MatchString(table) {
		t.Errorf("the table is\n%s\nwant %v", table, want)
	}
	if !strings.Contains(out, "== third: FAILED with exit code 7") {
		t.Errorf("the step that failed does not name itself:\n%s", out)
	}
}

// TestSteps: every step of the checks is a command that the shell understands. A comma in an
// argument of one of make's functions ends that argument, and a step in the middle of an hour
// fails.
func TestSteps(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED, not installed: make")
	}
	args := strings.Fields("--no-print-directory --dry-run step-format step-servers step-test " +
		"step-tidy step-lint step-platforms step-model step-browser step-kubernetes " +
		"step-race step-faults-test step-faults step-bench step-proto step-oldest step-faults-race " +
		"step-mutants step-busy-mutants")
	cmd := exec.CommandContext(t.Context(), "make", args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "UNALIKE_STEPS=", "MAKEFLAGS=")
	steps, err := cmd.Output()
	if err != nil {
		t.Fatalf("make --dry-run: %v", err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-n")
	shell.Stdin = bytes.NewReader(steps)
	if out, err := shell.CombinedOutput(); err != nil ||
		bytes.Count(steps, []byte("scripts/step")) < 10 {
		t.Errorf("the steps of make: %v\n%s\n%s", err, out, steps)
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
	out, code := script(t, "leftover", "scripts/busy", "3", "bash", "-c",
		"cat /proc/$PPID/task/$PPID/children; exit 5")
	if loops := len(strings.Fields(strings.SplitN(strings.TrimSpace(out), "\n",
		2)[0])) - 1; code != 5 || loops != 3 {
		t.Errorf("exit code %d beside %d loops, want 5 and 3:\n%s", code, loops, out)
	}
}

// TestFuzz: each fuzz test of the project is found and searched in its own folder, and one that
// finds something, or that the go command does not know, is named at the end.
func TestFuzz(t *testing.T) {
	out, code := script(t, "fuzz", "list")
	for _, want := range []string{
		"./core FuzzParse", "./internal/filestore FuzzDecode",
		"./coord/zk FuzzNames", "./internal/protocol FuzzDecode",
	} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("%s is not found", want)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}

	// A go command that says where it is and what it was asked for.
	dir := t.TempDir()
	for name, content := range map[string]string{
		"bin/go": `#!/bin/sh
echo "in $(basename "$PWD"): $*" >>"$CALLS"
case "$*" in
*Bad*) echo 'Failing input written to testdata/fuzz'; exit 1 ;;
*Gone*) echo 'testing: warning: no fuzz tests to fuzz' ;;
*Slow*) echo '    context deadline exceeded'; exit 1 ;;
esac
echo 'fuzz: elapsed: 3s, execs: 42'
`,
		"a/a_test.go": "package a\n\nfunc FuzzBad(f *testing.F) {}\nfunc FuzzGood(f *testing.F) " +
			"{}\nfunc TestX(t *testing.T) {}\n",
		"b/b_test.go": "package b\n\nfunc FuzzGone(f *testing.F) {}\nfunc FuzzSlow(f *testing.F) {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("CALLS", filepath.Join(dir, "calls"))
	t.Setenv("FUZZTIME", "3s")
	out, code = script(t, "fuzz", dir)
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, at := range []string{"a Bad", "a Good", "b Gone", "b Slow"} {
		folder, name, _ := strings.Cut(at, " ")
		want.WriteString("in " + folder + ": test . -run ^$ -fuzz ^Fuzz" + name +
			"$ -fuzztime 3s -fuzzminimizetime 1s\n")
	}
	if string(calls) != want.String() {
		t.Errorf("called was\n%swant\n%s", calls, &want)
	}
	if _, end, _ := strings.Cut(out, "FAILED: "); code != 1 || end != dir+"/a FuzzBad\nFAILED: "+dir+
		"/b FuzzGone\n" {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

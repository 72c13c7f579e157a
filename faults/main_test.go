package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// commandEnv makes this test program the command.
const commandEnv = "UNALIKE_TEST_FAULTS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" || os.Getenv("UNALIKE_FAULTS_WORKER") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// faults returns the command, not started, in a folder of its own, and what it will print.
func faults(t *testing.T, dir string, args ...string) (
	cmd *exec.Cmd, out, log *proctest.Output,
) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out, log = exec.CommandContext(t.Context(), exe, args...),
		new(proctest.Output), new(proctest.Output)
	cmd.Env = append(os.Environ(), commandEnv+"=1", "TMPDIR="+dir, "UNALIKE_STRICT=")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, log
	return cmd, out, log
}

func TestCommand(t *testing.T) {
	for args, want := range map[string]struct {
		code     int
		out, log string // expressions
	}{
		"":     {2, `^$`, `^faults: no command is given\nusage:`},
		"help": {0, `^usage:`, `^$`},
		"ran": {
			2, `^$`,
			`^faults: there is no command "ran"; there are list and run\nusage:`,
		},
		"list":     {0, `(?m)^kill-loop +etcd .*static.* kill -9`, `^$`},
		"list all": {2, `^$`, `^faults: list takes no arguments, and "all" is given\n$`},
		"run kill": {
			2, `^$`,
			`^faults: no scenario has the name "kill"; there are .*kill-loop`,
		},
		"run -backend oracle": {
			2, `^$`,
			`^faults: no scenario runs on the back end "oracle"; there are .*static`,
		},
		"run -fast":                     {2, `^$`, `flag provided but not defined: -fast`},
		"run -parallel 0":               {2, `^$`, `^faults: -parallel is 0; it is at least 1\n$`},
		"run -for 1s storm":             {2, `^$`, `^faults: -for is 1s; a storm lasts at least 10s\n$`},
		"run -resume -results . silent": {1, `^$`, `^faults: read .: is a directory`},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			cmd, out, log := faults(t, t.TempDir(), strings.Fields(args)...)
			_ = cmd.Run() // the code says it
			if code := cmd.ProcessState.ExitCode(); code != want.code ||
				!regexp.MustCompile(want.out).MatchString(out.String()) ||
				!regexp.MustCompile(want.log).MatchString(log.String()) {
				t.Errorf("code %d, output %q, log %q; want %+v", code, out, log, want)
			}
		})
	}
}

// TestRun: a scenario is run and reported.
func TestRun(t *testing.T) {
	t.Parallel()
	cmd, out, log := faults(t, t.TempDir(), "run", "-backend", "static",
		"-seed", "3", "-for", "10s", "storm")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !strings.Contains(out.String(), "\n| storm | static |") ||
		!strings.Contains(out.String(), "1 runs, 1 passed") {
		t.Errorf("the report is %s", out)
	}
}

// TestJudge: what cannot be run is a failure where everything has to run.
func TestJudge(t *testing.T) {
	skipped := []stage.Result{{Scenario: "a"}, {Scenario: "b", Skipped: "not here"}}
	for strict, want := range map[string]error{"": nil, "1": errSkipped} {
		t.Setenv("UNALIKE_STRICT", strict)
		if err := judge(skipped); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("with UNALIKE_STRICT %q: %v; want %v", strict, err, want)
		}
		if err := judge(append(skipped,
			stage.Result{Scenario: "c", Failures: []string{"x"}})); !errors.Is(err, errFailed) {
			t.Errorf("with UNALIKE_STRICT %q and a failure: %v", strict, err)
		}
	}
}

// TestEnded: whether the command is interrupted or killed, no process is left behind, and what has
// ended before is not run again.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(fmt.Sprint(signal), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, _, log := faults(t, dir, "run", "-short", "-backend", "static", "handover", "silent")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The first scenario has ended, and the other one has two processes, one of which is
			// frozen.
			proctest.Eventually(t, time.Minute, "two processes of the second scenario", func() bool {
				return strings.Contains(log.String(), "handover on static: passed") &&
					strings.Contains(log.String(), "silent on static: second is process")
			})
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // how it ends is looked at below
			if signal == syscall.SIGINT {
				if code := cmd.ProcessState.ExitCode(); code != 1 ||
					!strings.Contains(log.String(), "faults: interrupted during silent on static") {
					t.Errorf("it ended with code %d: %s", code, log)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "unalike-faults-*")); len(left) > 0 {
					t.Errorf("it has left %q behind", left)
				}
			}
			for _, m := range regexp.MustCompile(`is process (\d+)`).FindAllStringSubmatch(log.String(),
				-1) {
				pid, err := strconv.Atoi(m[1])
				if err != nil {
					t.Fatal(err)
				}
				proctest.Eventually(t, time.Minute, m[0]+" no longer", func() bool { return gone(pid) })
			}
			results, err := stage.ReadResults(filepath.Join(dir, "faults.jsonl"))
			if err != nil || len(results) != 1 || !results[0].Passed() {
				t.Errorf("the results are %+v, %v; want that of the first scenario", results, err)
			}
			cmd, out, log := faults(t, dir, "run", "-short", "-backend", "static", "-resume", "handover")
			if err := cmd.Run(); err != nil || log.String() != "" ||
				!strings.Contains(out.String(), "1 runs, 1 passed") {
				t.Errorf("going on: %v\n%s\n%s", err, log, out)
			}
		})
	}
}

// gone reports whether a process has ended. Nobody may have asked how.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

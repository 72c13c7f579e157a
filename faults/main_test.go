package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
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

// output collects what a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// faults returns the command, not started, in a folder of its own, and what it will print.
func faults(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out, log *output) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out, log = exec.CommandContext(t.Context(), exe, args...), new(output), new(output)
	cmd.Env = append(os.Environ(), commandEnv+"=1", "TMPDIR="+dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, log
	return cmd, out, log
}

func TestCommand(t *testing.T) {
	for args, want := range map[string]struct {
		code     int
		out, log string // expressions
	}{
		"":                              {2, `^$`, `^faults: no command is given\nusage:`},
		"help":                          {0, `^usage:`, `^$`},
		"ran":                           {2, `^$`, `^faults: there is no command "ran"; there are list, run, storm, mutants and report\nusage:`},
		"list":                          {0, `(?m)^2 +kill-loop +short +etcd .*static.* kill -9`, `^$`},
		"list all":                      {2, `^$`, `^faults: list takes no arguments, and "all" is given\n$`},
		"run kill":                      {2, `^$`, `^faults: no scenario has the name or number "kill"; did you mean .*kill-loop`},
		"run -backend oracle":           {2, `^$`, `^faults: no scenario runs on the back end "oracle"; there are .*static`},
		"run -fast":                     {2, `^$`, `flag provided but not defined: -fast`},
		"run -h":                        {0, `^$`, `-resume`},
		"storm -backend oracle":         {2, `^$`, `^faults: there is no back end "oracle"; there are .*static`},
		"storm -for 1s":                 {2, `^$`, `^faults: -for is 1s; a storm lasts at least 10s\n$`},
		"storm -state -backend redis":   {2, `^$`, `^faults: -state is for etcd, .*, and the back end is "redis"\n$`},
		"storm -state -contended":       {2, `^$`, `^faults: -state and -contended are not for the same storm\n$`},
		"run -parallel 0":               {2, `^$`, `^faults: -parallel is 0; it is at least 1\n$`},
		"storm -parallel -1":            {2, `^$`, `^faults: -parallel is -1; it is at least 1\n$`},
		"storm -seeds 0":                {2, `^$`, `^faults: -seeds is 0; it is at least 1\n$`},
		"storm etcd":                    {2, `^$`, `^faults: storm takes no arguments, and "etcd" is given\n$`},
		"report":                        {2, `^$`, `^faults: report takes one argument, the file of results; 0 are given\n$`},
		"report nothing.jsonl":          {1, `^$`, `^faults: stat nothing.jsonl: no such file or directory\n$`},
		"mutants nothing":               {2, `^$`, `^faults: there is no mutant "nothing"; there are owner-only-compare, `},
		"mutants -only luck":            {2, `^$`, `^faults: -only is "luck"; it is one of scenario, storm, sql\n$`},
		"mutants -parallel 0":           {2, `^$`, `^faults: -parallel is 0; it is at least 1\n$`},
		"mutants no-max":                {2, `^$`, `^faults: /.* is not in the repository, .* -root\n$`},
		"run -resume . layout-mismatch": {1, `^$`, `^faults: read .: is a directory`},
	} {
		t.Run(args, func(t *testing.T) {
			cmd, out, log := faults(t, t.TempDir(), strings.Fields(args)...)
			err := cmd.Run()
			code := cmd.ProcessState.ExitCode()
			if err != nil && code < 0 {
				t.Fatal(err)
			}
			if code != want.code || !regexp.MustCompile(want.out).MatchString(out.String()) || !regexp.MustCompile(want.log).MatchString(log.String()) {
				t.Errorf("code %d, output %q, log %q; want %+v", code, out, log, want)
			}
		})
	}
}

// TestRun: a scenario is run and reported, and its result can be reported again.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	cmd, out, log := faults(t, dir, "run", "-short", "-backend", "static", "layout-mismatch")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !strings.Contains(out.String(), "| 31 | layout-mismatch | static |") || !strings.Contains(out.String(), "1 runs, 0 failed, 0 not run") {
		t.Errorf("the report is %s", out)
	}
	cmd, again, log := faults(t, dir, "report", defaultResults)
	if err := cmd.Run(); err != nil || again.String() != out.String() {
		t.Errorf("%v\n%s\nit printed %s; want %s", err, log, again, out)
	}
}

// TestStrict: what cannot be run is reported; it is a failure where everything has to run.
func TestStrict(t *testing.T) {
	for strict, want := range map[string]struct {
		code     int
		out, log string
	}{
		"":  {0, `layout-mismatch on redis was not run: SKIPPED, not installed: redis-server`, ``},
		"1": {1, `layout-mismatch on redis: not installed: redis-server\.`, `faults: scenarios have failed\n$`},
	} {
		cmd, out, log := faults(t, t.TempDir(), "run", "-short", "-backend", "redis", "layout-mismatch")
		cmd.Env = append(cmd.Env, "PATH=", "UNALIKE_STRICT="+strict)
		_ = cmd.Run() // the code says it
		if code := cmd.ProcessState.ExitCode(); code != want.code || !regexp.MustCompile(want.out).MatchString(out.String()) || !regexp.MustCompile(want.log).MatchString(log.String()) {
			t.Errorf("with UNALIKE_STRICT %q: code %d, output\n%s\nlog\n%s\nwant %+v", strict, code, out, log, want)
		}
	}
}

// TestSkipped: so is a run that is left out for another reason.
func TestSkipped(t *testing.T) {
	for strict, want := range map[string]error{"": nil, "1": errSkipped} {
		t.Setenv("UNALIKE_STRICT", strict)
		skips := stage.Scenario{Name: "skips", Budget: time.Minute, Run: func(s *stage.Stage) { s.Skip("not here") }}
		o := stage.Options{Jobs: []stage.Job{{Scenario: skips, Backend: "static"}}, Log: io.Discard}
		if err := perform(t.Context(), o, io.Discard); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("with UNALIKE_STRICT %q: %v; want %v", strict, err, want)
		}
	}
}

// TestEnough: a full set that passes has issued two billion IDs, of which none may be a duplicate.
func TestEnough(t *testing.T) {
	var least uint64
	for _, sc := range all() {
		if !sc.ExpectDuplicates {
			least += sc.MinIDs * uint64(len(sc.Backends))
		}
	}
	if least < 2_000_000_000 {
		t.Errorf("the full set issues %d IDs at least; want two billion", least)
	}
}

// TestStorm: a storm has a seed and a verdict.
func TestStorm(t *testing.T) {
	cmd, out, log := faults(t, t.TempDir(), "storm", "-backend", "static", "-seed", "3", "-for", "10s")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !regexp.MustCompile(`\| 40 \| storm-seed-3 \| static \| [0-9,]+ \| 0 \|`).MatchString(out.String()) {
		t.Errorf("the report is %s", out)
	}
}

// TestEnded: whether the command is interrupted or killed, no process is left behind, and what has ended before is
// not run again.
func TestEnded(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(fmt.Sprint(signal), func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"run", "-short", "-backend", "static", "handover", "frozen-past-horizon"}
			cmd, _, log := faults(t, dir, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The first scenario has ended, and beside it the other one has started two processes, one of which is frozen.
			first, second := regexp.MustCompile(`handover on static: passed`), regexp.MustCompile(`frozen-past-horizon on static: second is process \d+`)
			await(t, log, func(log string) bool { return first.MatchString(log) && second.MatchString(log) })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // how it ends is looked at below
			if signal != syscall.SIGKILL {
				if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(log.String(), "faults: interrupted during") {
					t.Errorf("it ended with code %d: %s", code, log)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "unalike-faults-*")); len(left) > 0 {
					t.Errorf("it has left %q behind", left)
				}
			}
			for _, m := range regexp.MustCompile(`is process (\d+)`).FindAllStringSubmatch(log.String(), -1) {
				pid, err := strconv.Atoi(m[1])
				if err != nil {
					t.Fatal(err)
				}
				await(t, log, func(string) bool { return gone(pid) })
			}
			results, err := stage.ReadResults(filepath.Join(dir, defaultResults))
			if err != nil || len(results) != 1 || !results[0].Passed() {
				t.Errorf("the results are %+v, %v; want that of the first scenario", results, err)
			}
			cmd, out, log := faults(t, dir, "run", "-short", "-backend", "static", "-resume", defaultResults, "handover")
			if err := cmd.Run(); err != nil || !strings.Contains(log.String(), "has passed before") || !strings.Contains(out.String(), "1 runs, 0 failed") {
				t.Errorf("going on: %v\n%s\n%s", err, log, out)
			}
		})
	}
}

// await waits until what was logged, or something else, is as wanted.
func await(t *testing.T, log *output, done func(string) bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.NewTimer(time.Minute)
	defer tick.Stop()
	defer late.Stop()
	for !done(log.String()) {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("after a minute, the log is\n%s", log)
		}
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

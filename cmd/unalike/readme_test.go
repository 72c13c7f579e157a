package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/verify"
)

// root is the top folder of the module, as seen from this package.
const root = "../.."

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// blocks returns the fenced blocks of a language in a text.
func blocks(text, language string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(
		text, -1) {
		found = append(found, m[1])
	}
	return found
}

// goTool has the go command do something with a program that stands in a document.
func goTool(t *testing.T, page, program, name string, args ...string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(args, source)...)
	cmd.Dir = root // where its imports are found
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out)
	}
}

// compileProgram builds a Go program that stands in a document.
func compileProgram(t *testing.T, page, program string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "program.exe")
	// What a debugger needs takes longer to link than all the rest.
	goTool(t, page, program, "main.go", "build", "-ldflags=-s -w", "-o", binary)
	return binary
}

// TestReadmeProgram runs the first program in the README as it stands there, twice: neither run
// logs anything, and the second one has a higher ID.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	program := blocks(readFile(t, "README.md"), "go")[0]
	binary, folder := compileProgram(t, "README.md", program), t.TempDir() // its file goes there
	last := core.ID(0)
	for run := range 2 {
		var log strings.Builder
		cmd := exec.Command(binary)
		cmd.Dir, cmd.Stderr = folder, &log
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("run %d: %v\n%s%s", run, err, out, &log)
		}
		id, err := core.ParseID(strings.TrimSpace(string(out)))
		if err != nil || id <= last {
			safetytest.Unless(t, err).Errorf("run %d: %q after %v, %v", run, out, last, err)
		}
		last = id
		if log.Len() > 0 {
			t.Errorf("run %d logs %q", run, &log)
		}
	}
}

// TestReadmeSize: the front page stays one.
func TestReadmeSize(t *testing.T) {
	readme := readFile(t, "README.md")
	programs := blocks(readme, "go")
	if len(programs) != 2 {
		t.Fatalf("%d Go blocks in the README, want a short one and the service", len(programs))
	}
	for text, most := range map[string]int{readme: 150, programs[0]: 25, programs[1]: 60} {
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%d lines, at most %d are allowed:\n%.200s", n, most, text)
		}
	}
}

// TestReadmeCommands holds the README's two commands to those that CI runs.
func TestReadmeCommands(t *testing.T) {
	shell := blocks(readFile(t, "README.md"), "sh")
	if len(shell) == 0 || shell[0] != "go run ./cmd/unalike generate --count 5\nmake test\n" {
		t.Fatalf("the README starts with %q", shell)
	}
	ci := readFile(t, ".ci/run")
	for command := range strings.Lines(shell[0]) {
		if !strings.Contains(ci, strings.TrimSpace(command)+" || failed=1\n") {
			t.Errorf(".ci/run does not run %q", command)
		}
	}
}

// TestLayoutsPage holds the diagram and the table of the layouts to what they are.
func TestLayoutsPage(t *testing.T) {
	readme := readFile(t, "docs/configuration.md")
	if !strings.Contains(readme, "```\n"+bitDiagram(core.DefaultLayout())+"```\n") {
		t.Error("the bit diagram is not that of the default layout")
	}
	for _, name := range core.LayoutNames() {
		l, err := core.ParseLayout(name)
		if err != nil {
			t.Fatal(err)
		}
		_, perWorker, _ := strings.Cut(describeLayout(l, l.Epoch), "IDs per worker")
		_, perWorker, _ = strings.Cut(perWorker, "1ms, ")
		perWorker, _, _ = strings.Cut(perWorker, " a second")
		row := fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |\n", name, l, group(strconv.Itoa(l.Workers())),
			perWorker, l.Expires().Format("2006-01-02"))
		if !strings.Contains(readme, row) {
			t.Errorf("the table lacks %q", row)
		}
	}
}

// TestVerifyPage: the page on verify names its flags and no others, and all causes.
func TestVerifyPage(t *testing.T) {
	page := readFile(t, "docs/verify.md")
	flags := (&app{}).verifyCommand().Flags()
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("--([a-z]+)").FindAllStringSubmatch(page, -1) {
		if named[m[1]] = true; flags.Lookup(m[1]) == nil {
			t.Errorf("verify has no flag --%s", m[1])
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !named[f.Name] {
			t.Errorf("the page lacks --%s", f.Name)
		}
	})
	for _, cause := range []string{
		verify.CauseTwice, verify.CauseClock, verify.CauseRestart, verify.CauseLayouts,
		verify.CauseCopied,
	} {
		if !strings.Contains(page, "\n| "+cause+" |") {
			t.Errorf("the page lacks the cause %q", cause)
		}
	}
}

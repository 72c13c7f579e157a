package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/config"
)

// pages are all documents, as paths from the top folder.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var pageLink = regexp.MustCompile(`\]\(([^)#: ]+)(?:#[^)]*)?\)`)

// links returns what a page points at, as paths from the top folder.
func links(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, m := range pageLink.FindAllStringSubmatch(readFile(t, page), -1) {
		all = append(all, path.Join(path.Dir(page), m[1]))
	}
	return all
}

// TestLinks: what a document points at is there, and every document is two clicks from
// the README; a folder that is pointed at shows what is in it.
func TestLinks(t *testing.T) {
	t.Parallel()
	clicks := map[string]int{"README.md": 0}
	for n := range 2 {
		for page, at := range clicks {
			if at != n || !strings.HasSuffix(page, ".md") {
				continue
			}
			for _, to := range links(t, page) {
				if _, known := clicks[to]; !known {
					clicks[to] = n + 1
				}
			}
		}
	}
	for _, page := range pages(t) {
		for _, to := range links(t, page) {
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		_, near := clicks[page]
		_, folder := clicks[path.Dir(page)]
		if !near && !folder {
			t.Errorf("%s is more than two clicks from the README", page)
		}
	}
}

// TestBlocks compiles each Go program in the documents, reads each file of settings, and
// holds each call of the command to the commands and flags that there are.
func TestBlocks(t *testing.T) {
	t.Parallel()
	commands := 0
	for _, page := range pages(t) {
		text := readFile(t, page)
		for i, program := range blocks(text, "go") {
			switch {
			case page == "README.md" && i < 2: // they are run
			case strings.Contains(program, "\n\t\"testing\"\n"):
				goTool(t, page, program, "recipe_test.go", "test", "-ldflags=-s -w")
			default:
				compileProgram(t, page, program)
			}
		}
		for _, settings := range blocks(text, "yaml") {
			_, err := config.Parse([]byte(settings))
			if page == "docs/service.md" {
				err = (&serveSettings{generators: map[string]config.Config{}}).parse([]byte(settings))
			}
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, block := range blocks(text, "sh") {
			cmd := exec.Command("sh", "-n")
			cmd.Stdin = strings.NewReader(block)
			if out, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("%s: %v\n%s\nin\n%s", page, err, out, block)
			}
			for _, part := range strings.FieldsFunc(block, func(r rune) bool {
				return r == '\n' || r == '|'
			}) {
				if args, ok := commandIn(part); ok {
					commands++
					checkCommand(t, page, args)
				}
			}
		}
	}
	if commands < 15 {
		t.Errorf("%d calls of the command were found: does this test still find them?", commands)
	}
}

// TestUnitFile: what a document shows of the unit of systemd stands in it.
func TestUnitFile(t *testing.T) {
	unit, shown := readFile(t, "deploy/systemd/orders.service"),
		blocks(readFile(t, "docs/outages.md"), "ini")
	if len(shown) != 1 {
		t.Fatalf("%d blocks of a unit are shown", len(shown))
	}
	for line := range strings.Lines(shown[0]) {
		if !strings.Contains(unit, "\n"+line) {
			t.Errorf("the unit lacks %q", line)
		}
	}
}

// commandIn returns the arguments of a call of the command, up to what the shell does
// with it.
func commandIn(line string) (args []string, ok bool) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "go run ./cmd/unalike ")
	trimmed, ours := strings.CutPrefix(line, "unalike ")
	if !ours && strings.HasPrefix(line, "generate ") {
		trimmed, ours = line, true
	}
	for _, word := range strings.Fields(trimmed) {
		if strings.HasPrefix(word, "#") || word == ">" || word == "&&" {
			break
		}
		args = append(args, strings.Trim(word, "'\""))
	}
	return args, ours && len(args) > 0
}

func checkCommand(t *testing.T, page string, args []string) {
	t.Helper()
	a := &app{lookupEnv: lookupIn(nil), waits: waits{
		answer: answerTime, quiet: quietTime,
		dial: dialTime,
	}}
	tree := a.rootCommand()
	tree.InitDefaultCompletionCmd()
	c, rest, err := tree.Find(args)
	if err == nil && c == tree && !slices.Contains(args, "--help") {
		err = knownCommand(tree, args)
	}
	if err == nil && c.Name() != "bash" && c.Name() != "completion" {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s: unalike %s: %v", page, strings.Join(args, " "), err)
	}
}

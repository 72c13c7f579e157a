package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// suites are the folders with what the tests of several back ends share.
var suites = []string{"internal/drivertest", "internal/sqlstore/sqltest", "internal/sqlsegment/sqlsegmenttest", "internal/testserver/numbertest"}

// said is what is written in the tests of a folder: in each of them, and beside them.
type said struct {
	tests  map[string][]string
	beside []string
}

// TestBadInput holds the page about bad input to the tests: each test that it names is there,
// and each message stands in one of them, which fails if the code says something else.
func TestBadInput(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "bad-input.md"))
	if err != nil {
		t.Fatal(err)
	}
	known, rows := map[string]*said{}, 0
	for i, line := range strings.Split(string(data), "\n") {
		cells := cellsOf(line)
		if len(cells) != 3 || cells[2] == "test" || strings.HasPrefix(cells[2], "---") {
			continue
		}
		rows++
		var texts []string
		named := 0
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			at, name, _ := strings.Cut(m[1], " ")
			if known[at] == nil {
				known[at] = saidIn(t, append([]string{at}, suites...))
			}
			own, ok := known[at].tests[name]
			if !ok {
				t.Errorf("line %d: there is no test %s in %s", i+1, name, at)
			}
			named++
			texts = append(append(texts, own...), known[at].beside...)
		}
		if named == 0 {
			t.Errorf("line %d names no test", i+1)
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.TrimSpace(part); !says(texts, part) {
					t.Errorf("line %d: no test that it names has %q", i+1, part)
				}
			}
		}
	}
	if rows < 30 {
		t.Errorf("the page has %d rows: does this test still find them?", rows)
	}
}

// cellsOf returns the cells of a line of a table.
func cellsOf(line string) []string {
	line, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	const bar = "\x00"
	cells := strings.Split(strings.TrimSuffix(strings.ReplaceAll(line, `\|`, bar), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], bar, "|"))
	}
	return cells
}

// saidIn reads the tests of the first of the folders, and what the others have for tests.
func saidIn(t *testing.T, folders []string) *said {
	t.Helper()
	s := &said{tests: map[string][]string{}}
	for n, f := range folders {
		pattern := "*_test.go"
		if n > 0 {
			pattern = "*.go"
		}
		files, err := filepath.Glob(filepath.Join(root, f, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			s.read(t, path)
		}
	}
	return s
}

func (s *said) read(t *testing.T, path string) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		texts := []string{string(source[files.Position(decl.Pos()).Offset:files.Position(decl.End()).Offset])}
		ast.Inspect(decl, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					texts = append(texts, text)
				}
			}
			return true
		})
		if f, ok := decl.(*ast.FuncDecl); ok && testName.MatchString(f.Name.Name) {
			s.tests[f.Name.Name] = texts
		} else {
			s.beside = append(s.beside, texts...)
		}
	}
}

var testName = regexp.MustCompile(`^(Test|Fuzz)[A-Z]`)

// says reports whether one of the texts has a part.
func says(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}

package docs

import (
	"go/ast"
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
var suites = []string{
	"internal/drivertest", "internal/sqlstore/sqltest",
	"internal/sqlsegment/sqlsegmenttest", "internal/testserver/numbertest",
}

// said is what is written in the tests of a folder: in each of them, and beside them.
type said struct {
	tests  map[string][]string
	beside []string
}

// TestBadInput holds the list of bad input, and the page with examples of it, to the tests: each
// test that the list names is there, and each message stands in one of them, which fails if the
// code says something else.
func TestBadInput(t *testing.T) {
	known, listed := map[string]*said{}, []string(nil)
	rows := table(t, "internal/docs/testdata/bad-input.tsv", "what\tmessages\ttests")
	for i, row := range rows {
		var texts []string
		for test := range strings.SplitSeq(row[2], ", ") {
			at, name, _ := strings.Cut(test, " ")
			if known[at] == nil {
				known[at] = saidIn(t, append([]string{at}, suites...))
			}
			own, ok := known[at].tests[name]
			if !ok {
				t.Errorf("line %d: there is no test %s in %s", i+2, name, at)
			}
			texts = append(append(texts, own...), known[at].beside...)
		}
		listed = append(listed, row[1])
		for _, part := range partsOf(row[1]) {
			if !says(texts, part) {
				t.Errorf("line %d: no test that it names has %q", i+2, part)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(folder, "bad-input.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i, line := range strings.Split(string(data), "\n") {
		if cells := cellsOf(line); len(cells) == 2 {
			for _, part := range partsOf(cells[1]) {
				if shown++; !says(listed, part) {
					t.Errorf("bad-input.md, line %d: no message of the list has %q", i+1, part)
				}
			}
		}
	}
	if len(rows) < 30 || shown < 20 {
		t.Errorf("the list has %d rows and the page %d messages: does this test still find them?",
			len(rows), shown)
	}
}

// partsOf returns what messages in backquotes say, without what is left out of them as "…".
func partsOf(messages string) (parts []string) {
	for _, m := range code.FindAllStringSubmatch(messages, -1) {
		for part := range strings.SplitSeq(m[1], "…") {
			parts = append(parts, strings.TrimSpace(part))
		}
	}
	return parts
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
	all := &said{tests: map[string][]string{}}
	for _, s := range goFiles(t) {
		if n := slices.Index(folders, s.folder); n > 0 || n == 0 && s.test {
			all.add(s)
		}
	}
	return all
}

// constant is the text of an expression of literals alone, which may stand in several lines.
func constant(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		x, first := constant(e.X)
		y, second := constant(e.Y)
		return x + y, first && second && e.Op == token.ADD
	}
	return "", false
}

// add adds what a file says.
func (s *said) add(of source) {
	at := func(pos token.Pos) int { return positions.Position(pos).Offset }
	for _, decl := range of.file.Decls {
		texts := []string{of.text[at(decl.Pos()):at(decl.End())]}
		ast.Inspect(decl, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constant(e); ok {
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

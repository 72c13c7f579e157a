package docs

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how long a line of Go may be; a tab is one column.
const columns = 100

// givenUp are words that mean several things in this code, or nothing to somebody who is new to it.
// No identifier and no file is named so.
var givenUp = strings.Fields("alone asker bare bell forgive heal hint hold hush " +
	"incarnation inner " +
	"late learn memory moves notes outer parting patience reach settle sight spare tenure through " +
	"trap ward worry")

// givenUpFiles are names of files that say nothing of what is in them.
var givenUpFiles = append([]string{"calls", "near", "room"}, givenUp...)

// kept are words that are right where they stand.
var kept = map[string][]string{
	"segment":         {"hold"}, // a key of the configuration
	"internal/verify": {"memory"},
	"cmd/unalike":     {"memory"},
}

// TestColumns: no line of Go has more than 100 columns.
func TestColumns(t *testing.T) {
	for _, s := range goFiles(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		n := 0
		for line := range strings.Lines(s.text) {
			n++
			if w := utf8.RuneCountInString(strings.TrimRight(line, "\n")); w > columns {
				t.Errorf("%s:%d has %d columns; break it at %d", s.path, n, w, columns)
			}
		}
	}
}

// TestWords: no identifier has a name that was given up.
func TestWords(t *testing.T) {
	for _, s := range goFiles(t) {
		base, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(s.path), ".go"), "_")
		if slices.Contains(givenUpFiles, base) {
			t.Errorf("%s: name the file after what is in it", s.path)
		}
		for _, id := range identifiers(s.file) {
			word := strings.ToLower(id.Name)
			if slices.Contains(givenUp, word) && !slices.Contains(kept[s.folder], word) {
				t.Errorf("%s:%d: %s is no name; say what it is", s.path,
					positions.Position(id.Pos()).Line, id.Name)
			}
		}
	}
}

// identifiers returns the identifiers that a file declares.
func identifiers(file *ast.File) (all []*ast.Ident) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok && id != nil {
				all = append(all, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.Field:
			all = append(all, n.Names...)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			all = append(all, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return all
}

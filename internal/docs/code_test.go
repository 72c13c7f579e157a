package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how long a line of Go may be; a tab is one column.
const columns = 100

// longer are files with lines that cannot be broken, or are still to be: the list only shrinks.
// Most are tables of texts, and outputs of examples.
var longer = strings.Fields(`
benchmarks/coordinators/kubernetes_test.go
benchmarks/peers/report/bars.go
benchmarks/peers/segment_test.go
benchmarks/service/load_test.go
cmd/unalike/serve_check_test.go
cmd/unalike/serve_file_test.go
cmd/unalike/serve_hold_unix_test.go
cmd/unalike/serve_unix_test.go
cmd/unalike/verify_test.go
cmd/unalike/workers_test.go
config/example_test.go
coord/example_test.go
coord/file/main_test.go
coord/lease_test.go
coord/local/bad_test.go
coord/mysql/url_test.go
coord/postgres/kept_test.go
coord/redis/refused_test.go
coord/redis/stored_test.go
coord/redis/url_test.go
coord/static/example_test.go
coord/static/fuzz_test.go
coord/static/static_test.go
coord/static/url_test.go
coord/zk/example_test.go
core/example_generator_test.go
core/layout_example_test.go
deploy/tools/chart_test.go
deploy/tools/kubernetes_test.go
faults/stage/run_test.go
internal/mutants/verdict_test.go
internal/protocol/forgets_test.go
internal/protocol/session_test.go
internal/sqlstore/answer_test.go
internal/sqlstore/sqltest/urls.go
internal/statefile/path_unix_test.go
internal/statefile/statefile_test.go
internal/testserver/kubetest/server.go
internal/testserver/mysqltest/settings.go
internal/verify/read_test.go
metrics/metrics_test.go
proto/unalike/v1/id.pb.go
proto/unalike/v1/unalikev1connect/id.connect.go
segment/format_test.go
server/security_test.go
server/server_test.go
`)

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
	for _, path := range goFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name := rooted(path); slices.Contains(longer, name) || generated(data) {
			continue
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			if strings.Contains(line, "//nolint:") {
				continue // it stays on its line
			}
			if w := utf8.RuneCountInString(strings.TrimRight(line, "\n")); w > columns {
				t.Errorf("%s:%d has %d columns; break it at %d", rooted(path), n, w, columns)
			}
		}
	}
}

// TestWords: no identifier has a name that was given up.
func TestWords(t *testing.T) {
	fset := token.NewFileSet()
	for _, path := range goFiles(t) {
		base, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".go"), "_")
		if slices.Contains(givenUpFiles, base) {
			t.Errorf("%s: name the file after what is in it", rooted(path))
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range identifiers(file) {
			word := strings.ToLower(id.Name)
			folder := filepath.ToSlash(filepath.Dir(rooted(path)))
			if slices.Contains(givenUp, word) && !slices.Contains(kept[folder], word) {
				t.Errorf("%s:%d: %s is no name; say what it is", rooted(path),
					fset.Position(id.Pos()).Line, id.Name)
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

// generated reports whether a program has made a file.
func generated(data []byte) bool {
	first, _, _ := strings.Cut(string(data), "\n")
	return strings.HasPrefix(first, "// Code generated")
}

// rooted is a path from the project's root on.
func rooted(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+
		string(filepath.Separator)))
}

// goFiles are the files of Go of all modules.
func goFiles(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."),
		func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata"):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go"):
				all = append(all, path)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

package protocol

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModelNamesCode: what docs/model/README.md says is the code of a step of the model is
// there, under that name.
func TestModelNamesCode(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs/model/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "## From the model to the code\n")
	if !ok {
		t.Fatal("docs/model/README.md has no table from the model to the code")
	}
	span := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, " | ")
		if len(cells) != 2 {
			continue
		}
		var in map[string]bool
		for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
			name := m[1]
			if dir, err := os.Stat(filepath.Join(root, name)); err == nil && dir.IsDir() {
				in = declared(t, filepath.Join(root, name))
				continue
			}
			checked++
			if !in[name] {
				t.Errorf("%q is not in the package that is named before it: %s", name, row)
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d names were found; there are more than 80", checked)
	}
}

// declared returns the files of a folder and what they declare: functions, types, and
// methods with and without their type.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		names[filepath.Base(path)] = true
		switch filepath.Ext(path) {
		case ".lua":
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`function (\w+)\(`).FindAllSubmatch(b, -1) {
				names[string(bytes.TrimSpace(m[1]))] = true
			}
		case ".go":
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				declare(names, d)
			}
		}
	}
	return names
}

// declare adds what a declaration declares to names.
func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				names[s.Name.Name] = true
			}
		}
	case *ast.FuncDecl:
		names[d.Name.Name] = true
		if d.Recv == nil {
			return
		}
		of := d.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if of, ok := of.(*ast.Ident); ok {
			names[of.Name+"."+d.Name.Name] = true
		}
	}
}

package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// apiFile lists the exported names of all packages that programs may import.
const apiFile = "testdata/api.txt"

// TestAPI: what programs can use is what the list has, so that each change of it is seen in a
// review. UNALIKE_FREEZE=1 writes the list anew.
func TestAPI(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range all {
		if s.test || !public(s) {
			continue
		}
		for _, line := range exported(s.file) {
			lines = append(lines, s.folder+": "+line)
		}
	}
	slices.Sort(lines)
	now := strings.Join(slices.Compact(lines), "\n") + "\n"
	if os.Getenv("UNALIKE_FREEZE") != "" {
		if err := os.WriteFile(apiFile, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains("\n"+string(before), "\n"+line+"\n") {
			t.Errorf("new: %s", line)
		}
	}
	for line := range strings.Lines(string(before)) {
		if !strings.Contains("\n"+now, "\n"+line) {
			t.Errorf("gone: %s", strings.TrimSpace(line))
		}
	}
	if t.Failed() {
		t.Log("UNALIKE_FREEZE=1 go test -run TestAPI ./internal/docs lists the exported names anew")
	}
}

// public reports whether a source is of a package that programs of others may import.
func public(s source) bool {
	for dir := filepath.Join(root, s.folder); dir != filepath.Clean(root); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return false // it is of another module
		}
	}
	return s.file.Name.Name != "main" && !slices.Contains(strings.Split(s.folder, "/"), "internal")
}

// exported returns a line for each exported declaration, field and method of a file.
func exported(f *ast.File) (lines []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
				head := *d // others read what was parsed
				head.Doc = nil
				head.Body = nil
				lines = append(lines, text(&head))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				lines = append(lines, specified(d.Tok, spec)...)
			}
		}
	}
	return lines
}

// receiver is the name of the type of a method.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// specified returns the lines of a constant, a variable or a type.
func specified(tok token.Token, spec ast.Spec) (lines []string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				lines = append(lines, fmt.Sprint(tok, " ", name.Name))
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		head, within := "type "+spec.Name.Name+" ", []*ast.Field(nil)
		switch of := spec.Type.(type) {
		case *ast.StructType:
			head, within = head+"struct", of.Fields.List
		case *ast.InterfaceType:
			head, within = head+"interface", of.Methods.List
		default:
			if spec.Assign.IsValid() {
				head += "= "
			}
			return []string{head + text(of)}
		}
		lines = append(lines, head)
		for _, f := range within {
			of := strings.TrimPrefix(text(f.Type), "func")
			for _, name := range f.Names {
				if _, method := f.Type.(*ast.FuncType); !method {
					of = " " + strings.TrimSpace(of)
				}
				if name.IsExported() {
					lines = append(lines, head+", "+name.Name+of)
				}
			}
			if len(f.Names) == 0 {
				lines = append(lines, head+", "+of)
			}
		}
	}
	return lines
}

// text returns a declaration or a type in one line.
func text(node any) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), node)
	return strings.Join(strings.Fields(b.String()), " ")
}

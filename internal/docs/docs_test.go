package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top folder of the module, as seen from this package.
const root = "../.."

// The page that is checked, and its folder.
const folder, page = root + "/docs", "architecture.md"

var (
	// code is what stands between backquotes.
	code = regexp.MustCompile("`([^`\n]+)`")
	// name is package.Name or package.Type.Name.
	name = regexp.MustCompile(`^[a-z]+(\.[A-Za-z]+){1,2}$`)
	// path is a folder or a file of the module.
	path = regexp.MustCompile(`^[a-z]+(/[a-z._]+)+$`)
	link = regexp.MustCompile(`\]\(([^)#]+)`)
)

// TestNames holds a page to the code: functions and types that it names are declared, and
// folders and files are there.
func TestNames(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, page))
	if err != nil {
		t.Fatal(err)
	}
	text, known, names := string(data), declared(t), 0
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		switch said := m[1]; {
		case strings.HasSuffix(said, ".go"), path.MatchString(said):
			if _, err := os.Stat(filepath.Join(root, said)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		case name.MatchString(said):
			names++
			if !known[said] {
				t.Errorf("%s: %s is not declared anywhere", page, said)
			}
		}
	}
	if names < 40 {
		t.Errorf("%s names %d functions and types, and should name 40 at least: does this test "+
			"still find them?", page, names)
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(folder, m[1])); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}

// declared returns what the module declares outside of its tests: package.Name,
// package.Type.Method and package.Type.Field.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") &&
			len(d.Name()) > 2):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			for _, n := range namesOf(decl) {
				known[file.Name.Name+"."+n] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// namesOf returns what a declaration declares.
func namesOf(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		on := d.Recv.List[0].Type
		if star, ok := on.(*ast.StarExpr); ok {
			on = star.X
		}
		if generic, ok := on.(*ast.IndexExpr); ok {
			on = generic.X
		}
		if id, ok := on.(*ast.Ident); ok {
			return []string{id.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				for _, member := range membersOf(s.Type) {
					names = append(names, s.Name.Name+"."+member)
				}
			}
		}
	}
	return names
}

// membersOf returns the fields of a struct, or the methods of an interface.
func membersOf(of ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch t := of.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

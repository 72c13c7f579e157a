package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the top folder of the module, as seen from this package.
const root = "../.."

// source is a file of Go.
type source struct {
	path, folder string // from the top folder on
	test         bool
	text         string
	file         *ast.File
}

// positions are those of all sources.
var positions = token.NewFileSet()

// sources reads the files of Go of all modules, once.
var sources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(at, ".go"):
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(positions, at, text, parser.SkipObjectResolution)
		path, _ := filepath.Rel(root, at)
		path = filepath.ToSlash(path)
		all = append(all, source{
			path: path, folder: filepath.ToSlash(filepath.Dir(path)),
			test: strings.HasSuffix(path, "_test.go"), text: string(text), file: file,
		})
		return err
	})
	return all, err
})

// goFiles are the files of Go of all modules.
func goFiles(t *testing.T) []source {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// declared returns what the modules declare outside of their tests: package.Name,
// package.Type.Method and package.Type.Field, and the same with the folder and a blank in place of
// the package, methods also without their type.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, s := range goFiles(t) {
		if s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			for _, n := range namesOf(decl) {
				known[s.file.Name.Name+"."+n] = true
				known[s.folder+" "+n] = true
				if _, member, ok := strings.Cut(n, "."); ok {
					known[s.folder+" "+member] = true
				}
			}
		}
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

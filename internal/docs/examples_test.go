package docs

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// withoutExample are types that need none: package core alone uses what drivers tell it with them.
var withoutExample = []string{
	"coord Notifier", "coord Resumer", "coord Waiter",
}

// TestExamples: every public type has an example. An example is named for the type, as ExampleType
// or ExampleType_method, or its file uses the type: it names the type, or a function of the type's
// package that returns it, or a method or a field of that package that has it. Methods and fields
// are told by their names alone, in files that import the package. An alias has the examples of
// its type, and generated code needs none.
func TestExamples(t *testing.T) {
	shown := map[string]bool{} // by folder and name, as "coord Grant"; with a dot: a method or a field
	types, users := map[string]bool{}, map[string][]string{}
	for _, s := range goFiles(t) {
		if s.test {
			showExamples(shown, s)
		} else if public(s) && !strings.Contains(s.text, "DO NOT EDIT.") {
			findTypes(types, users, s)
		}
	}
	for name := range types {
		has := shown[name] || slices.ContainsFunc(users[name], func(n string) bool { return shown[n] })
		if excused := slices.Contains(withoutExample, name); has == excused {
			t.Errorf("%s has an example: %t; it is listed as one that needs none: %t", name, has, excused)
		}
	}
}

// showExamples notes what a file with examples uses.
func showExamples(shown map[string]bool, s source) {
	has := strings.HasPrefix(s.path[strings.LastIndex(s.path, "/")+1:], "example_")
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			if name, ok := strings.CutPrefix(f.Name.Name, "Example"); ok {
				name, _, _ = strings.Cut(name, "_")
				shown[s.folder+" "+name], has = true, true
			}
		}
	}
	if !has {
		return
	}
	folders := map[string]string{} // by the name of a package in this file
	for _, i := range s.file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		folder, ours := strings.CutPrefix(path, "github.com/unalike-id/unalike")
		if !ours {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		folders[name] = cmp.Or(strings.TrimPrefix(folder, "/"), ".")
	}
	member := func(name string) {
		for _, folder := range folders {
			shown[folder+" ."+name] = true
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && folders[of.Name] != "" {
				shown[folders[of.Name]+" "+n.Sel.Name] = true
			} else {
				member(n.Sel.Name)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				member(key.Name)
			}
		}
		return true
	})
}

// findTypes adds the exported types of a file, and by type what has it: functions that return it,
// and methods and fields.
func findTypes(types map[string]bool, users map[string][]string, s source) {
	use := func(of ast.Expr, by string) {
		ast.Inspect(of, func(n ast.Node) bool {
			if _, foreign := n.(*ast.SelectorExpr); foreign {
				return false
			}
			if name, ok := n.(*ast.Ident); ok {
				name := s.folder + " " + name.Name
				users[name] = append(users[name], s.folder+" "+by)
			}
			return true
		})
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok || !t.Name.IsExported() || t.Assign.IsValid() {
					continue
				}
				types[s.folder+" "+t.Name.Name] = true
				for _, f := range members(t.Type) {
					for _, name := range f.Names {
						use(f.Type, "."+name.Name)
					}
				}
			}
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = "." + name
			}
			if d.Type.Results != nil {
				for _, r := range d.Type.Results.List {
					use(r.Type, name)
				}
			}
		}
	}
}

// members returns the fields of a struct or the methods of an interface.
func members(of ast.Expr) []*ast.Field {
	switch of := of.(type) {
	case *ast.StructType:
		return of.Fields.List
	case *ast.InterfaceType:
		return of.Methods.List
	}
	return nil
}

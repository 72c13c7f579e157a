package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// edit returns a file's text with the change how made at the marker of a name: a comment
// //mutant:NAME at the end of the line where a statement begins, or alone on the line before.
//
//	drop            the statement is left out
//	true, false     its condition is always so: that of an if, for or case, or the value that
//	                is returned or assigned
//	A => B          the text A, which occurs on the line once, is B, also in files that are not Go
func edit(name, text, how string) (string, error) {
	line, err := markedLine(name, text)
	if err != nil {
		return "", err
	}
	if old, with, ok := strings.Cut(how, " => "); ok {
		return replace(text, line, old, with)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	node := nodeAt(set, file, line)
	if node == nil {
		return "", fmt.Errorf("nothing begins on line %d, which is marked", line)
	}
	old, with, ok := change(node, how)
	if !ok {
		return "", fmt.Errorf("line %d: there is no edit %q, or it does not fit the code", line, how)
	}
	return text[:set.Position(old.Pos()).Offset] + with + text[set.Position(old.End()).Offset:], nil
}

// markedLine is the number of the line that the marker of a name is about; the first is 1.
func markedLine(name, text string) (int, error) {
	found := 0
	for i, line := range strings.Split(text, "\n") {
		before, ok := strings.CutSuffix(line, "mutant:"+name)
		if !ok {
			continue
		}
		if found != 0 {
			return 0, fmt.Errorf("there are two markers mutant:%s", name)
		}
		found = i + 1
		if strings.Trim(before, "\t /-#") == "" {
			found++ // it is alone on its line
		}
	}
	if found == 0 {
		return 0, fmt.Errorf("there is no marker mutant:%s", name)
	}
	return found, nil
}

// replace returns a text with the change of a line.
func replace(text string, number int, old, with string) (string, error) {
	lines := strings.Split(text, "\n")
	if n := strings.Count(lines[number-1], old); n != 1 {
		return "", fmt.Errorf("line %d, which is marked, has %q %d times, want once", number, old, n)
	}
	lines[number-1] = strings.Replace(lines[number-1], old, with, 1)
	return strings.Join(lines, "\n"), nil
}

// nodeAt is the outermost statement, case, specification or element that begins on a line;
// that of a function's body if the function stands on the line as a whole.
func nodeAt(set *token.FileSet, file *ast.File, line int) (found ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || found != nil || set.Position(n.End()).Line < line {
			return false
		}
		switch n.(type) {
		case ast.Spec, ast.Stmt, *ast.KeyValueExpr:
			if _, block := n.(*ast.BlockStmt); !block && set.Position(n.Pos()).Line == line {
				found = n
			}
		}
		return found == nil
	})
	return found
}

// change returns what a mutant takes out of a statement and what it puts there; not ok: it does not
// fit.
func change(node ast.Node, how string) (old ast.Node, with string, ok bool) {
	if how == "drop" {
		if _, clause := node.(*ast.CaseClause); !clause {
			_, ok := node.(ast.Stmt)
			return node, "{}", ok
		}
		how = "false"
	}
	c := condition(node)
	return c, how, c != nil && (how == "true" || how == "false")
}

// condition is what decides in a statement; nil if nothing does.
func condition(node ast.Node) ast.Expr {
	switch n := node.(type) {
	case *ast.IfStmt:
		return n.Cond
	case *ast.ForStmt:
		return n.Cond
	case *ast.CaseClause:
		return one(n.List)
	case *ast.ReturnStmt:
		return one(n.Results)
	case *ast.AssignStmt:
		return one(n.Rhs)
	case *ast.KeyValueExpr:
		return n.Value
	}
	return nil
}

// one is the first of several expressions that compares something, or the only one.
func one(list []ast.Expr) ast.Expr {
	if i := slices.IndexFunc(list, func(e ast.Expr) bool {
		_, ok := e.(*ast.BinaryExpr)
		return ok
	}); i >= 0 {
		return list[i]
	}
	if len(list) == 1 {
		return list[0]
	}
	return nil
}

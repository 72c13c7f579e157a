package main

import (
	"go/format"
	"strings"
	"testing"
)

// TestEdit: each kind of edit changes the statement at the marker, and nothing else; what does
// not fit is refused.
func TestEdit(t *testing.T) {
	for _, tt := range []struct{ what, code, how, want string }{
		{"a call", "f() //mutant:x", "drop", "{} //mutant:x"},
		{"marked on the line before", "//mutant:x\nf()", "drop", "//mutant:x\n{}"},
		{"a whole if", "if a { //mutant:x\nf()\n}\ng()", "drop", "{}\ng()"},
		{"an else", "if a {\n} else if b { //mutant:x\nf()\n}", "drop", "if a {\n} else {}"},
		{"a condition", "if a { //mutant:x\n}", "true", "if true { //mutant:x\n}"},
		{
			"with a statement before", "if x := f(); x { //mutant:x\n}", "false",
			"if x := f(); false { //mutant:x\n}",
		},
		{"a case", "switch {\ncase a: //mutant:x\n}", "drop", "switch {\ncase false: //mutant:x\n}"},
		{"a loop", "for i < 3 { //mutant:x\n}", "true", "for true { //mutant:x\n}"},
		{"what is assigned", "a = b && c //mutant:x", "false", "a = false //mutant:x"},
		{"an operand", "if a && b { //mutant:x\n}", "b => true", "if a && true { //mutant:x\n}"},
		{"an expression", "a = max(b, c.d()) //mutant:x", "max(b, c.d()) => b", "a = b //mutant:x"},
		{"one of another length", "a = b + 10 //mutant:x", "10 => 0", "a = b + 0 //mutant:x"},
		{"text", "a = `x y` //mutant:x", "x y => z", "a = `z` //mutant:x"},
		{"twice", "a = b + b //mutant:x", "b => c", ""},
		{"no condition", "f() //mutant:x", "true", ""},
		{"no such edit", "if a { //mutant:x\n}", "twist", ""},
		{"another marker", "f() //mutant:xy", "drop", ""},
		{"two markers", "f() //mutant:x\nf() //mutant:x", "drop", ""},
		{"nothing there", "//mutant:x", "drop", ""},
	} {
		const head, tail = "package p\n\nfunc p() {\n", "\n}\n"
		got, err := edit("x", head+tt.code+tail, tt.how)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: %q", tt.what, got)
			}
			continue
		}
		if err != nil || got != head+tt.want+tail {
			t.Errorf("%s: %q, %v; want %q", tt.what, strings.TrimPrefix(got, head), err, tt.want)
		}
		if _, err := format.Source([]byte(got)); err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
	if _, err := edit("x", "package p\n\nconst a = 5 //mutant:x\n", "5 => 6"); err != nil {
		t.Error(err)
	}
	got, err := edit("x", "no Go --mutant:x", "no => yes")
	if err != nil || got != "yes Go --mutant:x" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := edit("x", "not Go //mutant:x", "drop"); err == nil {
		t.Error("a text that is not Go was edited")
	}
}

package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// TestColumn reads a column of a CSV, and goes on after records that are damaged.
func TestColumn(t *testing.T) {
	o := options(t)
	o.Column = "id"
	v := id(t, 0, 0, 0)
	body := fmt.Sprintf("\ufeffa,id,note\r\n7,%d,\"two\nlines\"\r\n8,%s,x\r\n", v, v.Base62())
	if r := mustCheck(t, o, text("f.csv", body)); r.IDs != 2 || r.Duplicates != 1 ||
		fmt.Sprint(r.Clashes[0].Places) != "[f.csv:2 f.csv:4]" {
		t.Errorf("%+v", r)
	}
	body = "id,note\n1,a\n2\n3,b,c\n4,quo\"te\n5,\"x\n\"y\n6,z\n"
	r := mustCheck(t, o, text("f.csv", body))
	var got []string
	for _, e := range r.Examples {
		if e.Kind == KindUnreadable {
			got = append(got, fmt.Sprintf("%v: %s", e.Place, e.Text))
		}
	}
	rule := `; a field with quotes, commas or line ends has to stand in quotes, with "" for each ` +
		`quote in it`
	want := []string{
		"f.csv:3: the record has 1 fields; the first line has 2",
		"f.csv:4: the record has 3 fields; the first line has 2",
		`f.csv:5: damaged record: bare " in non-quoted-field` + rule,
		`f.csv:6: damaged record: extraneous or missing " in quoted-field` + rule,
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || r.IDs != 2 || r.Unreadable != 4 {
		t.Errorf("%d IDs, %q\nwant %q", r.IDs, got, want)
	}
}

// TestBadColumn: what has no such column is refused, and a quote that does not end takes no memory
// without a bound.
func TestBadColumn(t *testing.T) {
	o := options(t)
	o.Column = "id"
	const head = "f.csv: the first line, which names the columns: "
	for _, tt := range []struct{ body, want string }{
		{
			"a,b\n1,2\n", `f.csv: there is no column "id"; the first line names the columns, separated ` +
				`by commas, and they are ["a" "b"]`,
		},
		{"1541815603606036480,x\n", `they are ["1541815603606036480" "x"]`},
		{"id;note\n1;2\n", `they are ["id;note"]`},
		{"id,b,id\n1,2,3\n", `columns 1 and 3 are both called "id"`},
		{"", `f.csv is empty; the first line of a CSV names its columns, and one has to be "id"`},
		{"a\"b,id\n", head + `parse error on line 1, column 2: bare "`},
		{
			"id,b\n1,2\n2,\"" + strings.Repeat("3,4\n", 1<<20),
			"f.csv: the record after line 2: it is longer than 1048576 bytes; is a quote missing?",
		},
		{strings.Repeat("x", 2<<20), head + "it is longer than 1048576 bytes"},
	} {
		body, want := tt.body, tt.want
		if _, err := Check(t.Context(), []Source{text("f.csv", body)}, o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
}

// TestLines reads IDs in all forms of text, however the lines end.
func TestLines(t *testing.T) {
	o := options(t)
	v := id(t, 0, 3, 5)
	r := mustCheck(t, o, text("f", fmt.Sprintf("\ufeff%d\r\n\n \t%s \n%d", v, v.Base62(), v)),
		text("g", lines(v)))
	if r.IDs != 4 || r.Unreadable != 0 || r.Extra != 3 || len(r.Clashes) != 1 {
		t.Fatalf("%+v", r)
	}
	got, parts := r.Clashes[0], core.Parts{Time: year2026, WorkerID: 3, Sequence: 5}
	if got.ID != v || *got.Parts != parts || fmt.Sprint(got.Places) != "[f:1 f:3 f:4 g:1]" {
		t.Errorf("%+v", got)
	}
	// Eleven digits are decimal, or base62 if only that is allowed.
	eleven := core.ID(12345678901)
	if r := mustCheck(t, o, text("f", "12345678901\n")); r.IDs != 1 || r.Unreadable != 0 ||
		r.Workers[0].First != core.DefaultLayout().Decompose(eleven).Time {
		t.Errorf("%+v", r)
	}
	o.Digits = false
	if r := mustCheck(t, o, text("f", "12345678901\n12345678901\n")); r.Duplicates != 1 ||
		r.Clashes[0].ID.Base62() != "12345678901" {
		t.Errorf("%+v", r)
	}
}

// TestBadLines: a line that holds no ID is reported with its number, and the others count.
func TestBadLines(t *testing.T) {
	o := options(t)
	o.Shown = 3
	bad := []string{
		"9223372036854775808", "-5", "1.5", "12345678901234567890", "0x10", "1 2",
		"\x00\x01",
	}
	r := mustCheck(t, o, text("f", strings.Join(bad, "\n")+"\n0\n9223372036854775807\n"))
	if r.IDs != 2 || r.Unreadable != int64(len(bad)) || len(r.Examples) != 3+1 {
		// the largest number is in the future, too
		t.Errorf("%+v", r)
	}
	for i, e := range r.Examples[:3] {
		if e.Kind != KindUnreadable || e.Line != int64(i+1) || e.Text == "" {
			t.Errorf("%+v", e)
		}
	}
	if _, err := Check(t.Context(), []Source{text("f", "1\n"+strings.Repeat("x", longestLine+1))},
		o); err == nil ||
		!strings.Contains(err.Error(),
			"f: line 2 is longer than 1048576 bytes; is it a text with one ID a line?") {
		t.Errorf("a long line: %v", err)
	}
}

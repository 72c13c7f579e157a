package main

import (
	"bytes"
	"strings"
	"testing"
)

// segments runs the program with a data folder, and returns what it printed.
func segments(t *testing.T, data string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	lookup := func(name string) (string, bool) {
		if name == "XDG_DATA_HOME" || name == "LOCALAPPDATA" {
			return data, true
		}
		return "", false
	}
	code = run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e}, lookup)
	return code, o.String(), e.String()
}

// TestSegments: numbers in one command on a machine with nothing, and the tags that there are then.
func TestSegments(t *testing.T) {
	data := t.TempDir()
	for _, tc := range []struct {
		args string
		code int
		out  string // in what it prints, on either stream
	}{
		{"generate --segment orders --count 3", 0, "1\n2\n3\n"},
		{"generate --segment orders", 0, "4\n"}, // what was not printed was given back
		{"segments create users --first 100 --step 50 --description people", 0, "tag users begins at 100, with a step of 50"},
		{"segments create users", 1, "the tag exists"},
		{"segments", 0, "users   100   50"},
		{"segments --format json", 0, `{"description":"people","next":100,"step":50,"tag":"users"`},
		{"segments advance users --to 500", 0, "tag users goes on with 500"},
		{"segments advance users --to 5", 1, "numbers go up only"},
		{"segments advance --all --by 10", 0, "tag orders goes on with 15\ntag users goes on with 510"},
		{"segments advance nobody --to 5", 1, "unknown tag"},
		{"generate --segment users --count 2", 0, "510\n511\n"},
		{"segments advance", 2, "name a tag"},
		{"segments advance users --all --by 5", 2, "name a tag"},
		{"segments advance users", 2, "--to or --by"},
		{"segments --interval 5s", 2, "--interval is for --watch"},
		{"generate --store embed:///x", 2, "--store is for --segment"},
		{"generate --segment a --explain", 2, "--segment is for plain numbers"},
		{"generate --segment a --store redis://h/0", 1, "unknown scheme"},
		{"segments --store mysql://u:secret@h", 1, "there is no database"},
	} {
		code, out, errs := segments(t, data, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out+errs, tc.out) || tc.code == 0 && errs != "" || strings.Contains(errs, "secret") {
			t.Errorf("%s: exit code %d, %q, %q; want %d and %q", tc.args, code, out, errs, tc.code, tc.out)
		}
	}
}

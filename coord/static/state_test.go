package static

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

const goodState = `{"version":1,"namespace":"n","worker":7,"layout":"layout-a","generation":3,"notAfter":5000,"token":"","holder":"h"}`

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGoodState(t *testing.T) {
	for _, content := range []string{
		goodState, goodState + "\n", " " + strings.ReplaceAll(goodState, ",", ",\n  "),
	} {
		path := statePathOf(t)
		write(t, path, content)
		forget("n")
		c := open(t, Options{Namespace: "n", State: path})
		g := acquire(t, c, request("a", 1000))
		window(t, g, 5000, 5000)
		if g.Generation != 4 {
			t.Errorf("generation %d follows 3", g.Generation)
		}
	}
}

// TestBadState has every state file that must be refused, with the message, and
// sees to it that none is touched.
func TestBadState(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(goodState, old, new, 1) }
	for _, tt := range []struct{ content, want string }{
		{"", `it is empty, perhaps truncated`},
		{" \n", `it is empty, perhaps truncated`},
		{goodState[:40], `it is not a JSON object, perhaps truncated: unexpected end of JSON input`},
		{"worker=7\n", `it is not a JSON object, perhaps truncated: invalid character 'w' looking for beginning of value`},
		{"\x00\x00\x00", `it is not a JSON object, perhaps truncated: invalid character '\x00' looking for beginning of value`},
		{"\xff\xfe", `it is not JSON: it is not even UTF-8`},
		{`[1]`, `it is not a JSON object, perhaps truncated: json: cannot unmarshal array into Go value of type map[string]json.RawMessage`},
		{`null`, `the field "version" is missing`},
		{goodState + goodState, `it is not a JSON object, perhaps truncated: invalid character '{' after top-level value`},
		{strings.Repeat(" ", maxState) + goodState, `it has more than 16384 bytes and is no state file`},
		{with(`"version":1`, `"version":2`), `it has version 2 and this program reads version 1`},
		{with(`"version":1`, `"version":"1"`), `it has version "1" and this program reads version 1`},
		{`{"workers":[7]}`, `the field "version" is missing`},
		{with(`"worker":7,`, ``), `the field "worker" is missing`},
		{with(`"generation":3,`, ``), `the field "generation" is missing`},
		{with(`"notAfter":5000,`, ``), `the field "notAfter" is missing`},
		{with(`"layout":"layout-a",`, ``), `the field "layout" is missing`},
		{with(`"notAfter":5000`, `"notAfter":null`), `the field "notAfter" is null`},
		{with(`"holder":"h"`, `"holder":"h","floor":1`), `the field "floor" is unknown`},
		{with(`"notAfter":5000`, `"notAfter":"5000"`), `a field has a wrong value: json: cannot unmarshal string into Go struct field record.notAfter of type int64`},
		{with(`"notAfter":5000`, `"notAfter":9223372036854775808`), `a field has a wrong value: json: cannot unmarshal number 9223372036854775808 into Go struct field record.notAfter of type int64`},
		{with(`"notAfter":5000`, `"notAfter":5000.5`), `a field has a wrong value: json: cannot unmarshal number 5000.5 into Go struct field record.notAfter of type int64`},
		{with(`"generation":3`, `"generation":-3`), `a field has a wrong value: json: cannot unmarshal number -3 into Go struct field record.generation of type uint64`},
		{with(`"notAfter":5000`, `"notAfter":9000,"notAfter":5000`), `a field is given twice, out of order, or in a form that this driver does not write`},
		{with(`"generation":3`, `"generation":0`), `generation is 0; it starts at 1`},
		{with(`"notAfter":5000`, `"notAfter":-1`), `notAfter is -1; a tick is 0 or more`},
		{with(`"layout-a"`, `""`), `layout is empty`},
	} {
		path := statePathOf(t)
		write(t, path, tt.content)
		forget("n")
		c := open(t, Options{Namespace: "n", State: path, AcceptFresh: true})
		_, err := c.Acquire(t.Context(), request("a", 1000))
		wantError(t, err, coord.ErrInvalid, `coord: invalid state file "`+path+`": `+tt.want+`; restore it, or move it away if the clock is right: the next start then waits one horizon`)
		untouched(t, path, tt.content)
		if len(c.held) != 0 {
			t.Errorf("%q is refused and the worker ID held", tt.content)
		}
	}
}

func untouched(t *testing.T, path, content string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != content {
		t.Errorf("the file was %q and is %q now, %v", content, b, err)
	}
}

// TestForeignState: whole files that are somebody else's.
func TestForeignState(t *testing.T) {
	path := statePathOf(t)
	prefix := `state file "` + path + `": `
	for _, tt := range []struct {
		old, new, want string
		kind           error
	}{
		{
			`"namespace":"n"`, `"namespace":"m"`,
			`coord: invalid: it belongs to namespace "m", worker ID 7; it is wanted for namespace "n", worker ID 7; give each namespace and worker ID a state file of its own`, coord.ErrInvalid,
		},
		{
			`"worker":7`, `"worker":8`,
			`coord: invalid: it belongs to namespace "n", worker ID 8; it is wanted for namespace "n", worker ID 7; give each namespace and worker ID a state file of its own`, coord.ErrInvalid,
		},
		{
			`layout-a`, `layout-b`,
			`coord: layout mismatch: namespace "n" has layout layout-b, this generator has layout-a; use the stored layout or another namespace`, coord.ErrLayoutMismatch,
		},
		{
			`5000`, `2199023255552`,
			`coord: invalid: notAfter is 2199023255552; the layout ends at tick 2199023255551`, coord.ErrInvalid,
		},
	} {
		content := strings.Replace(goodState, tt.old, tt.new, 1)
		write(t, path, content)
		forget("n")
		c := open(t, Options{Namespace: "n", State: path})
		_, err := c.Acquire(t.Context(), request("a", 1000))
		wantError(t, err, tt.kind, prefix+tt.want)
		untouched(t, path, content)
	}
}

// TestStateSurvivesEncoding: what encode writes decode reads, for all text that a
// caller may pass.
func TestStateSurvivesEncoding(t *testing.T) {
	for _, holder := range []string{"", `"\<&>`, "\u2028 zwölf", "bad \xff UTF-8", "\x00\n"} {
		r := record{Version: stateVersion, Namespace: "n", Worker: 7, Layout: "41/10/12<&>", Generation: 1<<64 - 1, NotAfter: 1<<63 - 1, Token: "t", Holder: holder}
		b, err := r.encode()
		if err != nil {
			t.Fatalf("holder %q: %v", holder, err)
		}
		back, err := decode(b)
		r.Holder = strings.ToValidUTF8(r.Holder, "?")
		if err != nil || back != r {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	}
	if _, err := (record{Version: stateVersion, Layout: "x"}).encode(); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a record that cannot be read back is written: %v", err)
	}
}

// FuzzDecode: what is read of a state file is written again, but for white space.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(goodState))
	f.Add([]byte(strings.Replace(goodState, "5000", "5e3", 1)))
	f.Add([]byte(strings.ReplaceAll(goodState, ",", ", \n")))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			if errors.Is(err, coord.ErrInvalid) { // load says that, with the path
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			t.Fatalf("%q is read as %+v, and is no JSON: %v", b, r, err)
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("%q is read as %+v, which cannot be written: %v", b, r, err)
		}
		if back, err := decode(again); err != nil || back != r || compact.String()+"\n" != string(again) {
			t.Fatalf("%q is read as %+v, which is written %q, and then %+v, %v", b, r, again, back, err)
		}
	})
}

func TestBadPath(t *testing.T) {
	dir := filepath.Dir(statePathOf(t))
	file := filepath.Join(dir, "file")
	write(t, file, goodState)
	for _, tt := range []struct {
		path, want string
		kind       error
	}{
		{filepath.Join(dir, "none", "state"), `coord: invalid state file: find the folder of the state file: lstat ` + filepath.Join(dir, "none") + `: no such file or directory; create the folder`, fs.ErrNotExist},
		{filepath.Join(file, "state"), `coord: invalid state file: look for state file: lstat ` + filepath.Join(file, "state") + `: not a directory; a file is where a folder should be: name another path`, coord.ErrInvalid},
		{dir, `coord: invalid state file "` + dir + `": it is not a regular file but d---------; name a file`, coord.ErrInvalid},
	} {
		c := open(t, Options{State: tt.path})
		_, err := c.Acquire(t.Context(), request("a", 0))
		if !errors.Is(err, coord.ErrInvalid) || !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v", tt.path, err)
		}
		if runtime.GOOS != "windows" { // where the system's own words differ
			wantError(t, err, coord.ErrInvalid, tt.want)
		}
	}
}

// TestFolderWithoutFiles: the advice to create a folder that exists helps nobody.
func TestFolderWithoutFiles(t *testing.T) {
	file := filepath.Join(filepath.Dir(statePathOf(t)), "state.lock")
	wantError(t, fileError("open lock file", &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}), coord.ErrInvalid,
		`coord: invalid state file: open lock file: open `+file+`: file does not exist; its folder is there, but no file can be made in it: name another folder`)
	gone := filepath.Join(file, "state.lock")
	wantError(t, fileError("open lock file", &fs.PathError{Op: "open", Path: gone, Err: fs.ErrNotExist}), coord.ErrInvalid,
		`coord: invalid state file: open lock file: open `+gone+`: file does not exist; create the folder`)
	if runtime.GOOS != "linux" {
		return
	}
	_, err := open(t, Options{State: "/proc/x.state"}).Acquire(t.Context(), request("a", 0))
	if !errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "create the folder") { // not everybody may try
		t.Errorf("in /proc: %v", err)
	}
}

func TestPermissionError(t *testing.T) {
	err := fileError("write state file", &fs.PathError{Op: "open", Path: "/x/state.tmp", Err: fs.ErrPermission})
	wantError(t, err, coord.ErrInvalid, `coord: invalid state file: write state file: open /x/state.tmp: permission denied; let this user read and write the file and its folder`)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v is no fs.ErrPermission", err)
	}
}

// TestSymlink: the same file by another name has the same lock, and the link
// stays one.
func TestSymlink(t *testing.T) {
	path := statePathOf(t)
	link := filepath.Join(filepath.Dir(statePathOf(t)), "link")
	linkedDir := link + "-dir"
	if err := errors.Join(os.Symlink(path, link), os.Symlink(filepath.Dir(path), linkedDir)); err != nil {
		t.Skipf("skipped: symbolic links cannot be made here: %v", err)
	}
	dangling := open(t, Options{State: link, AcceptFresh: true})
	if _, err := dangling.Acquire(t.Context(), request("a", 0)); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a link to nothing: %v", err)
	}
	ns := rand.Text()
	c := open(t, Options{Namespace: ns, State: path, AcceptFresh: true})
	g := acquire(t, c, request("a", 1000))
	for _, other := range []string{link, filepath.Join(linkedDir, "state")} {
		_, err := open(t, Options{Namespace: "elsewhere", State: other}).Acquire(t.Context(), request("b", 1000))
		if err == nil || !strings.Contains(err.Error(), `it belongs to namespace "`+ns+`"`) {
			t.Errorf("the same file by the name %s: %v", other, err)
		}
	}
	if err := c.Release(t.Context(), g, 1200); err != nil {
		t.Fatal(err)
	}
	window(t, acquire(t, open(t, Options{Namespace: ns, State: link}), request("b", 1000)), 1200, 4000)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
}

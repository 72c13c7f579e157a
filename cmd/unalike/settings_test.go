package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// TestOperateConfig: operators' commands take coordinator and layout from a file, with
// the precedence that generate has.
func TestOperateConfig(t *testing.T) {
	_, newSpace := newSpaces(t)
	inFile, inEnv, inFlag := newSpace(), newSpace(), newSpace()
	file := settingsFile(t, "coordinator: "+inFile+"\nlayout: twitter\n")
	for _, tt := range []struct {
		url    string
		env    map[string]string
		flags  []string
		layout core.Layout
	}{
		{inFile, nil, nil, core.TwitterLayout()},
		{inEnv, map[string]string{envCoordinator: inEnv, "UNALIKE_LAYOUT": "javascript"}, nil, core.JavaScriptLayout()},
		{inFlag, map[string]string{envCoordinator: "nonsense", "UNALIKE_LAYOUT": "javascript"}, []string{"--coordinator", inFlag, "--layout", "default"}, core.DefaultLayout()},
	} {
		do := func(args ...string) result {
			return call(t, tt.env, "", append(append(args, "--config", file), tt.flags...)...)
		}
		wantCall(t, do("init"), exitOK, tt.url+" is new, with layout "+tt.layout.String()+"\n", "")
		wantCall(t, do("quarantine", "--yes"), exitOK, "the floor of "+tt.url, "")
		wantCall(t, do("retire", "3", "--yes"), exitOK, "worker ID 3 of "+tt.url+" is retired\n", "")
		wantCall(t, do("workers"), exitOK, "0 held", "")
	}
}

// TestUnusedSettings: what counts only with a file is named, without its value.
func TestUnusedSettings(t *testing.T) {
	env := map[string]string{envCoordinator: noState(t, "4"), "UNALIKE_LAYOUT": "hidden", "UNALIKE_TTL": "", "UNALIKE_PORT": "tcp://1.2.3.4", "UNALIKE_STORE": "mysql://h/d", "UNALIKE_SEGMENTS": "a"}
	const want = "unalike: UNALIKE_LAYOUT is set and not used without --config\n"
	if got := call(t, env, "", "generate"); got.code != exitOK || strings.Count(got.stderr, want) != 1 || strings.Count(got.stderr, "not used") != 1 || strings.Contains(got.stderr, "hidden") {
		t.Errorf("%+v", got)
	}
	if got := call(t, env, "", "workers"); strings.Count(got.stderr, want) != 1 || strings.Contains(got.stderr, "hidden") {
		t.Errorf("%+v", got)
	}
	env["UNALIKE_LAYOUT"], env[envCoordinator] = "twitter", noState(t, "4")+"-file"
	if got := call(t, env, "", "generate", "--config", settingsFile(t, "horizon: 20s\n")); got.code != exitOK || strings.Contains(got.stderr, "not used") {
		t.Errorf("with a file: %+v", got)
	}
}

// TestURLMistakes: for every scheme, a mistake in a URL on the command line is one of
// usage, and elsewhere it is a failure.
func TestURLMistakes(t *testing.T) {
	for _, scheme := range coord.Schemes() {
		url := strings.ToUpper(scheme) + "://u:secret@h/?nonsense=1"
		for code, got := range map[int]result{
			exitUsage:   call(t, nil, "", "generate", "--coordinator", url),
			exitFailure: call(t, map[string]string{envCoordinator: url}, "", "generate"),
		} {
			if got.code != code || strings.Contains(got.stderr, "secret") || strings.Contains(got.stderr, "--help") != (code == exitUsage) {
				t.Errorf("%s: %+v, want exit code %d", scheme, got, code)
			}
		}
	}
}

// TestURLValues: likewise for what is written as it should be and is out of bounds.
func TestURLValues(t *testing.T) {
	for _, url := range []string{
		"etcd://h/a/b", "etcd://h/a?ttl=1s", "etcd://h/a?ttl=5s&renew=6s", "redis://h/0?namespace=a%20b",
		"zk://h?namespace=a/b", "zk://h/x/?namespace=a", "zk://h?namespace=a&ttl=1ms",
	} {
		if got := call(t, nil, "", "generate", "--coordinator", url); got.code != exitUsage || got.out != "" {
			t.Errorf("%s: %+v, want exit code %d", url, got, exitUsage)
		}
	}
}

// TestLayoutOfAnotherTime: no coordinator is made for a layout that has no IDs now.
func TestLayoutOfAnotherTime(t *testing.T) {
	for layout, want := range map[string]string{
		"41/10/12/1ms/2999-01-01T00:00:00Z": "its epoch is in the future",
		"10/10/12/1ms/2024-01-01T00:00:00Z": "its time bits were spent at 2024-01-01T00:00:01.024Z",
	} {
		data := t.TempDir()
		wantCall(t, call(t, dataIn(data), "", "generate", "--layout", layout), exitUsage, "", want)
		if made, err := os.ReadDir(data); err != nil || len(made) > 0 {
			t.Errorf("%s: %v was made, %v", layout, made, err)
		}
	}
	wantCall(t, call(t, nil, "", "layout", "41/10/12/1ms/2999-01-01T00:00:00Z"), exitOK, "2999-01-01T00:00:00.000Z, which is in the future", "")
}

// TestUnusableFolder: what a URL leads to is no mistake on the command line.
func TestUnusableFolder(t *testing.T) {
	file := filepath.ToSlash(settingsFile(t, "x: y\n"))
	for url, want := range map[string]string{
		"embed://" + urlPath(file):                               "name a folder\n",
		"embed://" + urlPath(filepath.Dir(file)):                 "is not the folder of an embedded etcd",
		"static://?worker=1&fresh=true&state=" + file + "/state": "state",
	} {
		wantCall(t, call(t, nil, "", "generate", "--coordinator", url), exitFailure, "", want)
	}
}

// TestNothingAnnounced: what is refused is not announced before.
func TestNothingAnnounced(t *testing.T) {
	_, newSpace := newSpaces(t)
	used, none := newSpace(), newSpace()
	closeGenerator(t, generator(t, used, core.Config{}))
	for _, tt := range []struct {
		url  string
		args []string
		want string
	}{
		{used, []string{"retire", "1024"}, "unalike: worker ID 1024; the layout has worker IDs 0 to 1023\n"},
		{none, []string{"retire", "3"}, "there is no such namespace"},
		{none, []string{"quarantine"}, "there is no such namespace"},
	} {
		got := call(t, nil, "", append(tt.args, "--yes", "--coordinator", tt.url)...)
		wantCall(t, got, exitFailure, "", tt.want)
		if strings.Contains(got.stderr, "will be") {
			t.Errorf("%v: it was announced:\n%s", tt.args, got.stderr)
		}
	}
	wantCall(t, call(t, nil, "", "workers", "--coordinator", none), exitOK, "there is no such namespace, or it is new: ", "")
}

// TestVerbose says which coordinator serves, and where the default one has its data.
func TestVerbose(t *testing.T) {
	data := t.TempDir()
	got := call(t, dataIn(data), "", "generate", "-v")
	wantCall(t, got, exitOK, "", `msg=coordinator named_by="the default coordinator"`)
	if runtime.GOOS != "windows" { // where a URL writes a path in another way
		wantCall(t, got, exitOK, "", "url=embed://"+filepath.Join(data, "unalike", "etcd_"))
	}
	wantCall(t, call(t, nil, "", "generate", "-v", "--coordinator", noState(t, "4")), exitOK, "", "named_by=--coordinator")
}

// TestHelpUnwritten: a help that cannot be written is a failure.
func TestHelpUnwritten(t *testing.T) {
	broken := errors.New("disk full")
	for _, args := range [][]string{{"generate", "--help"}, {"--version"}, {}} {
		var stderr strings.Builder
		code := run(t.Context(), args, streams{out: full{broken}, err: &stderr}, lookupIn(nil))
		if code != exitFailure || stderr.String() != fmt.Sprintf("unalike: writing: %v\n", broken) {
			t.Errorf("%v: exit code %d, %q", args, code, &stderr)
		}
	}
}

// TestMisspelledVariable: a variable that is nearly one of ours is an error in every command that has settings, with a file
// and without.
func TestMisspelledVariable(t *testing.T) {
	t.Setenv("UNALIKE_COORDINATR", "etcd://localhost/orders")
	url := noState(t, "7")
	file := settingsFile(t, "coordinator: "+url+"\n")
	for _, args := range [][]string{
		{"generate", "--coordinator", url},
		{"generate", "--config", file},
		{"serve", "--listen", "127.0.0.1:0", "--coordinator", url},
		{"serve", "--listen", "127.0.0.1:0", "--config", file},
		{"generate", "--segment", "orders"},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}, os.LookupEnv)
		const want = "UNALIKE_COORDINATR is set and is no setting; did you mean UNALIKE_COORDINATOR?"
		if code == exitOK || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Fatalf("%q: exit code %d, %s%s\nwant %s", args, code, &out, &errs, want)
		}
	}
}

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivers"
)

// TestServeNamesVariables: a variable that serve does not look at is named.
func TestServeNamesVariables(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := map[string]string{envStore: "etcd://localhost/segments"}
	got := callIn(ctx, waits{answer: callTime, quiet: callTime}, env, "",
		"serve", "--drain", "0s", "--listen", "127.0.0.1:0", "--coordinator", noState(t, "7"))
	want := "unalike: UNALIKE_STORE is set and not used by serve; name it in the file\n"
	wantCall(t, got, got.code, "", want)
}

// TestURLMistakes: for every scheme, a mistake in a URL on the command line is one of
// usage, and elsewhere it is a failure.
func TestURLMistakes(t *testing.T) {
	for _, scheme := range drivers.Coordinators.Schemes() {
		url := strings.ToUpper(scheme) + "://u:secret@h/?nonsense=1"
		checkLines(t, nil, []line{{"generate --coordinator " + url, exitUsage, "--help"}})
		env := map[string]string{envCoordinator: url}
		checkLines(t, env, []line{{"generate", exitFailure, "unalike: UNALIKE_COORDINATOR: unalike: "}})
	}
	checkLines(t, nil, []line{{ // where nobody is there, too
		"generate --coordinator redis://127.0.0.1:1/0?nonsense=1", exitUsage, `unknown option "nonsense"`,
	}})
}

// TestLayoutOfAnotherTime: no coordinator is made for a layout that has no IDs now.
func TestLayoutOfAnotherTime(t *testing.T) {
	data := t.TempDir()
	const future = "41/10/12/1ms/2999-01-01T00:00:00Z"
	checkLines(t, dataIn(data), []line{
		{"generate --layout " + future, exitUsage, "its epoch is in the future"},
		{
			"generate --layout 10/10/12/1ms/2024-01-01T00:00:00Z", exitUsage,
			"its time bits were spent at 2024-01-01T00:00:01.024Z",
		},
		{"layout " + future, exitOK, "2999-01-01T00:00:00.000Z, which is in the future"},
	})
	if made, err := os.ReadDir(data); err != nil || len(made) > 0 {
		t.Errorf("%v was made, %v", made, err)
	}
}

// TestUnusableFolder: a URL may lead to what is no folder of the kind.
func TestUnusableFolder(t *testing.T) {
	file := filepath.ToSlash(settingsFile(t, "x: y\n"))
	const generate = "generate --coordinator "
	checkLines(t, nil, []line{
		{generate + "embed://" + urlPath(file), exitUsage, "name a folder\n"},
		{
			generate + "embed://" + urlPath(filepath.Dir(file)), exitUsage,
			"is not the folder of an embedded etcd",
		},
		{generate + "static://?worker=1&fresh=true&state=" + file + "/state", exitFailure, "state"},
	})
}

// TestNothingAnnounced: what is refused is not announced before.
func TestNothingAnnounced(t *testing.T) {
	_, newSpace := newSpaces(t)
	used, none := newSpace(), newSpace()
	closeGenerator(t, generator(t, used, core.Config{}))
	for _, tt := range [][2]string{
		{"retire 1024 --coordinator " + used, "worker ID 1024; the layout has worker IDs 0 to 1023\n"},
		{"retire 3 --coordinator " + none, "there is no such namespace"},
		{"quarantine --coordinator " + none, "there is no such namespace"},
		{"quarantine --lower --coordinator static://?worker=1", "cannot tell who holds its worker IDs"},
	} {
		args, want := tt[0], tt[1]
		got := call(t, nil, "", strings.Fields(args+" --yes")...)
		wantCall(t, got, exitFailure, "", want)
		if strings.Contains(got.stderr, "will be") {
			t.Errorf("%s: it was announced:\n%s", args, got.stderr)
		}
	}
	checkLines(t, nil, []line{{
		"workers --coordinator " + none, exitOK,
		"no such namespace, or it is new: ",
	}})
}

// TestMisspelledVariable: a variable that is nearly one of ours is an error in every command that
// has settings, with a file and without.
func TestMisspelledVariable(t *testing.T) {
	t.Setenv("UNALIKE_COORDINATR", "etcd://localhost/orders")
	url := noState(t, "7")
	file := settingsFile(t, "coordinator: "+url+"\n")
	for _, args := range []string{
		"generate --coordinator " + url,
		"generate --config " + file,
		"serve --listen 127.0.0.1:0 --coordinator " + url,
		"serve --listen 127.0.0.1:0 --config " + file,
		"generate --segment orders",
	} {
		var out, errs strings.Builder
		all := streams{in: strings.NewReader(""), out: &out, err: &errs}
		code := run(t.Context(), strings.Fields(args), all, os.LookupEnv)
		const want = "UNALIKE_COORDINATR is set and is no setting; did you mean UNALIKE_COORDINATOR?"
		if code == exitOK || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Fatalf("%q: exit code %d, %s%s\nwant %s", args, code, &out, &errs, want)
		}
	}
}

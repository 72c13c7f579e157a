package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// settingsFile writes a file and returns its path.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	return writeFile(t, "unalike.yaml", text)
}

// TestGenerateConfig: flags win over the environment, which wins over the file.
func TestGenerateConfig(t *testing.T) {
	url := noState(t, "21")
	file := "--config " + settingsFile(t, "coordinator: "+url+"\nlayout: javascript\n")
	env := func(coordinator, layout string) map[string]string {
		return map[string]string{envCoordinator: coordinator, "UNALIKE_LAYOUT": layout}
	}
	for _, tt := range []struct {
		name   string
		env    map[string]string
		flags  string
		worker string
		layout core.Layout
	}{
		{"file", nil, file, "21", core.JavaScriptLayout()},
		{"environment", env(noState(t, "22")+"-22", "twitter"), file, "22", core.TwitterLayout()},
		{
			"flags", env("nonsense", "twitter"), file + " --layout default --coordinator " +
				noState(t, "23") + "-23",
			"23", core.DefaultLayout(),
		},
		{"no file", env(noState(t, "24")+"-24", "twitter"), "", "24", core.TwitterLayout()},
	} {
		got := call(t, tt.env, "", strings.Fields("generate --explain "+tt.flags)...)
		id, _, _ := strings.Cut(got.out, " ")
		parsed, err := core.ParseID(id)
		if got.code != exitOK || err != nil {
			t.Fatalf("%s: %+v, %v", tt.name, got, err)
		}
		at := tt.layout.Decompose(parsed).Time.Format(timeForm)
		if want := "  " + at + "  worker " + tt.worker + "  "; !strings.Contains(got.out, want) {
			t.Errorf("%s: %q, want %q", tt.name, got.out, want)
		}
	}
}

// TestBadConfig: every command that has a coordinator takes a file, and says what is wrong with it.
func TestBadConfig(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"ttl: 10\n", "unalike.yaml:1: ttl is \"10\": it is a positive duration"},
		{
			"coordinator: nowhere://user:secret@host/\n",
			"unalike.yaml: coordinator: unalike: invalid URL: unknown scheme \"nowhere\"",
		},
		{
			"coordinator: etcd://user:${NONE}@host/n\n",
			"unalike.yaml:1: coordinator: ${NONE} refers to a variable that is not set or empty",
		},
		{"coordinator: " + noState(t, "1") + "\nlead: 20s\n", "Lead is 20s; at most a third"},
	} {
		args := "generate --config " + settingsFile(t, tt.file)
		checkLines(t, nil, []line{{args, exitFailure, tt.want}})
	}
	none := filepath.Join(t.TempDir(), "none.yaml")
	for _, command := range []string{
		"generate", "workers", "init", "quarantine --yes", "retire 3 --yes", "verify", "segments",
	} {
		checkLines(t, nil, []line{
			{command + " --config " + none, exitFailure, "--config: config: the file cannot be read: "},
		})
	}
}

// TestFileOfServe: the other commands take the file of serve, and with --generator one of several.
func TestFileOfServe(t *testing.T) {
	several := writeFile(t, "several.yaml", `listen: 127.0.0.1:0
generators:
  orders: {coordinator: "static://?worker=3&fresh=true"}
  users: {coordinator: "static://?worker=4&fresh=true"}
store: embed://`+urlPath(t.TempDir())+"\n")
	one := writeFile(t, "one.yaml",
		"listen: 127.0.0.1:0\ncoordinator: static://?worker=5&fresh=true\n")
	plain := writeFile(t, "plain.yaml", "coordinator: static://?worker=6&fresh=true\n")
	broken := writeFile(t, "broken.yaml", "listne: 127.0.0.1:0\nlisten: 127.0.0.1:0\n")
	const generate = "generate --explain --config "
	checkLines(t, nil, []line{
		{generate + several + " --generator users", exitOK, "  worker 4  "},
		{
			generate + several, exitUsage,
			"has several generators; name one with --generator: orders, users",
		},
		{
			generate + several + " --generator user", exitUsage,
			`--generator is "user"; ` + several + " has orders, users; did you mean users?",
		},
		{generate + one, exitOK, "  worker 5  "},
		{generate + one + " --generator x", exitUsage, "with several generators; leave it out"},
		{generate + plain, exitOK, "  worker 6  "},
		{generate + broken, exitFailure, `line 1: unknown key "listne"; did you mean listen?`},
		{"segments --config " + several, exitOK, "0 tags"},
	})
}

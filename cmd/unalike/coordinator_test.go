package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
)

func TestDataFolder(t *testing.T) {
	abs := t.TempDir() // absolute on the system that runs the test
	for _, tt := range []struct {
		name, goos string
		env        map[string]string
		want, err  string
	}{
		{"linux", "linux", map[string]string{"HOME": abs}, filepath.Join(abs, ".local", "share"), ""},
		{"linux with XDG", "linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": abs}, abs, ""},
		{"XDG relative", "linux", map[string]string{"XDG_DATA_HOME": "data"}, "", `XDG_DATA_HOME is "data"; it must be an absolute path`},
		{"no home", "linux", nil, "", "HOME is not set; set it, or name a coordinator with --coordinator or UNALIKE_COORDINATOR"},
		{"darwin", "darwin", map[string]string{"HOME": abs}, filepath.Join(abs, "Library", "Application Support"), ""},
		{"windows", "windows", map[string]string{"LOCALAPPDATA": abs, "HOME": "/h"}, abs, ""},
		{"windows profile", "windows", map[string]string{"USERPROFILE": abs}, filepath.Join(abs, "AppData", "Local"), ""},
		{"windows none", "windows", map[string]string{"HOME": abs}, "", "USERPROFILE is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dataFolder(tt.goos, lookupIn(tt.env))
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLocalCoordinator(t *testing.T) {
	data := t.TempDir()
	env := dataIn(data)
	a := &app{lookupEnv: lookupIn(env)}
	urls := map[string]bool{}
	for _, l := range []core.Layout{core.DefaultLayout(), core.TwitterLayout(), core.JavaScriptLayout()} {
		p, err := a.localCoordinator(l)
		if err != nil || !strings.HasPrefix(p.rawURL, "embed:///") || p.folder != filepath.Join(data, "unalike") {
			t.Errorf("%+v, %v", p, err)
		}
		urls[p.rawURL] = true
	}
	if len(urls) != 3 {
		t.Errorf("layouts share a folder: %v", urls)
	}
	wantCall(t, call(t, env, "", "generate"), exitOK, "", "")
	info, err := os.Stat(filepath.Join(data, "unalike"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v", info.Mode())
	}

	env["XDG_DATA_HOME"] = filepath.Join(data, "file")
	env["LOCALAPPDATA"] = env["XDG_DATA_HOME"]
	if err := os.WriteFile(env["XDG_DATA_HOME"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := call(t, env, "", "generate")
	if got.code != exitFailure || !strings.Contains(got.stderr, "unalike: the default coordinator: the folder of its data cannot be made: ") {
		t.Errorf("%+v", got)
	}
}

// TestCoordinatorFromEnvironment holds that the flag wins over the environment and
// that an error says which of them is wrong.
func TestCoordinatorFromEnvironment(t *testing.T) {
	env := map[string]string{envCoordinator: noState(t, "17")}
	if got := call(t, env, "", "generate", "--explain"); got.code != exitOK || !strings.Contains(got.out, "  worker 17  ") {
		t.Errorf("%+v", got)
	}
	if got := call(t, env, "", "generate", "--explain", "--coordinator", noState(t, "18")); got.code != exitOK || !strings.Contains(got.out, "  worker 18  ") {
		t.Errorf("%+v", got)
	}
	env[envCoordinator] = "nowhere://user:secret@host/"
	got := call(t, env, "", "generate")
	if got.code != exitFailure || !strings.HasPrefix(got.stderr, "unalike: UNALIKE_COORDINATOR: coord: invalid URL: unknown scheme \"nowhere\"") || strings.Contains(got.stderr, "secret") {
		t.Errorf("%+v", got)
	}
}

// urlPath returns an absolute path as a URL has it.
func urlPath(path string) string { return strings.TrimPrefix(embedURL(path), "embed://") }

func TestEmbedURL(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/.local":     "/home/me/.local",
		"/home/a b?c%d#e":     "/home/a%20b%3Fc%25d%23e",
		"C:/Users/me/unal@ke": "/C:/Users/me/unal@ke",
	} {
		got := embedURL(path)
		if want = "embed://" + strings.ReplaceAll(want, "@", "%40"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		u, err := driver.ParseURL(got)
		if err != nil || strings.TrimPrefix(u.Path, "/") != strings.TrimPrefix(path, "/") {
			t.Errorf("%s is read as %v, %v", got, u, err)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/config"
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
		{
			"XDG relative", "linux",
			map[string]string{"XDG_DATA_HOME": "data"},
			"",
			`XDG_DATA_HOME is "data"; it must be an absolute path`,
		},
		{
			"no home", "linux", nil, "",
			"HOME is not set; set it",
		},
		{
			"darwin", "darwin",
			map[string]string{"HOME": abs},
			filepath.Join(abs, "Library", "Application Support"), "",
		},
		{"windows", "windows", map[string]string{"LOCALAPPDATA": abs, "HOME": "/h"}, abs, ""},
	} {
		got, err := dataFolder(tt.goos, lookupIn(tt.env))
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != tt.want || (said == "") != (tt.err == "") || !strings.Contains(said, tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// TestLocalCoordinator: each layout has a folder of its own, which nobody else may read.
func TestLocalCoordinator(t *testing.T) {
	data := t.TempDir()
	env := dataIn(data)
	a := &app{lookupEnv: lookupIn(env)}
	urls := map[string]bool{}
	for _, l := range []core.Layout{
		core.DefaultLayout(), core.TwitterLayout(),
		core.JavaScriptLayout(),
	} {
		p, err := a.findCoordinator(&namespaceOptions{}, config.Config{Config: core.Config{Layout: l}})
		if err != nil || !strings.HasPrefix(p.rawURL, "embed:///") {
			t.Errorf("%+v, %v", p, err)
		}
		urls[p.rawURL] = true
	}
	if len(urls) != 3 {
		t.Errorf("layouts share a folder: %v", urls)
	}
	checkLines(t, env, []line{{"generate", exitOK, ""}})
	info, err := os.Stat(filepath.Join(data, "unalike"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %+v, %v", info, err)
	}
	checkLines(t, dataIn(writeFile(t, "file", "")), []line{
		{"generate", exitFailure, "the default coordinator: the folder of its data cannot be made: "},
	})
}

// urlPath returns an absolute path as a URL has it.
func urlPath(path string) string { return strings.TrimPrefix(embedURL(path), "embed://") }

func TestEmbedURL(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/.local":     "/home/me/.local",
		"/home/a b?c%d#e":     "/home/a%20b%3Fc%25d%23e",
		"C:/Users/me/unal@ke": "/C:/Users/me/unal%40ke",
	} {
		if got := embedURL(path); got != "embed://"+want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

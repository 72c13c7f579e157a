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
	file := settingsFile(t, "coordinator: "+noState(t, "21")+"\nlayout: javascript\n")
	for _, tt := range []struct {
		name   string
		env    map[string]string
		flags  []string
		worker string
		layout core.Layout
	}{
		{"file", nil, nil, "21", core.JavaScriptLayout()},
		{"environment", map[string]string{envCoordinator: noState(t, "22") + "-22", "UNALIKE_LAYOUT": "twitter"}, nil, "22", core.TwitterLayout()},
		{"flags", map[string]string{envCoordinator: "nonsense", "UNALIKE_LAYOUT": "twitter"}, []string{"--coordinator", noState(t, "23") + "-23", "--layout", "default"}, "23", core.DefaultLayout()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, tt.env, "", append([]string{"generate", "--explain", "--config", file}, tt.flags...)...)
			id, _, _ := strings.Cut(got.out, " ")
			parsed, err := core.ParseID(id)
			if got.code != exitOK || err != nil || !strings.Contains(got.out, "  worker "+tt.worker+"  ") {
				t.Fatalf("%+v, %v", got, err)
			}
			if at := tt.layout.Decompose(parsed).Time.Format(timeForm); !strings.Contains(got.out, "  "+at+"  ") {
				t.Errorf("%q, want the time %s", got.out, at)
			}
		})
	}
	// Without a file, the layout comes from the flag alone, as for other commands.
	got := call(t, map[string]string{envCoordinator: noState(t, "24") + "-24", "UNALIKE_LAYOUT": "nonsense"}, "", "generate")
	if got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func TestGenerateBadConfig(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"value", "ttl: 10\n", "unalike.yaml:1: ttl is \"10\": it is a positive duration"},
		{"scheme", "coordinator: nowhere://user:secret@host/\n", "unalike.yaml: coordinator: coord: invalid URL: unknown scheme \"nowhere\""},
		{"variable", "coordinator: etcd://user:${NONE}@host/n\n", "unalike.yaml:1: coordinator: ${NONE} refers to a variable that is not set or empty"},
		{"together", "coordinator: " + noState(t, "1") + "\nlead: 20s\n", "Lead is 20s; at most a third"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, nil, "", "generate", "--config", settingsFile(t, tt.file))
			if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, "secret") {
				t.Errorf("%+v\nwant %s", got, tt.want)
			}
		})
	}
	wantCall(t, call(t, nil, "", "generate", "--config", ""), exitUsage, "", "--config is empty; name a file, or leave the flag out\n")
	wantCall(t, call(t, nil, "", "generate", "--config", filepath.Join(t.TempDir(), "none.yaml")), exitFailure, "", "unalike: --config: config: the file cannot be read: ")
}

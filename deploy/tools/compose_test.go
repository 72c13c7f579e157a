package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// composeIn is the folder of the compose file.
const composeIn = "../compose"

// TestCompose: compose's own library takes the file, each file in it is there, and the programs
// that are here take theirs.
func TestCompose(t *testing.T) {
	t.Parallel()
	options, err := cli.NewProjectOptions([]string{filepath.Join(composeIn, "compose.yaml")},
		cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(project.Services)),
		" "); got != "etcd grafana ids-1 ids-2 prometheus" {
		t.Errorf("it has %s", got)
	}
	for name, s := range project.Services {
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	accept(t, command(t), "serve", "--check", "--config", filepath.Join(composeIn, "serve.yaml"))
	proctest.Need(t, "prometheus", "promtool")
	rules, err := filepath.Abs("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(read(t, filepath.Join(composeIn, "prometheus.yaml")),
		"/etc/prometheus/alerts.yaml", rules, 1)
	accept(t, "promtool", "check", "config", put(t, t.TempDir(), "prometheus.yaml", text))
}

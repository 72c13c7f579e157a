//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ofTags are metrics that there are with tags alone, of which the etcd of a test has none. Package metrics looks at them.
const ofTags = "unalike_segment_"

// TestServeBoard: every metric that the board and the alerts name is one that serve has; and so is the page that operators
// open first.
func TestServeBoard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: embed://%s/ids\nstore: embed://%s/tags\nstate: %s/state\n", dir, dir, dir)))
	s.await("/readyz", "", isOK)
	for _, file := range []string{"grafana/unalike.json", "prometheus/alerts.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`unalike_\w+`).FindAllString(string(text), -1) {
			if !strings.HasPrefix(name, ofTags) {
				s.await("/metrics", "", func(_ int, body string) bool { return strings.Contains(body, "\n"+name) })
			}
		}
	}
	s.await("/", "", func(status int, body string) bool {
		return status == 200 && strings.Contains(body, "All is well: 1 generator issues IDs, and no tag lacks numbers.") &&
			strings.Contains(body, "1,023 of 1,024 free at")
	})
	s.stop()
}

//go:build unix

package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestServeBoard: every metric that the board and the alerts name is one that serve has; and so is
// the page that operators open first.
func TestServeBoard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startFile(t, "coordinator: embed://%s/ids\nstore: embed://%[1]s/tags\nstate: %[1]s/state\n",
		dir).ready()
	for _, file := range []string{"deploy/grafana/unalike.json", "deploy/prometheus/alerts.yaml"} {
		for _, name := range regexp.MustCompile(`unalike_\w+`).FindAllString(readFile(t, file), -1) {
			// Those of tags are there with tags alone, of which the etcd of a test has none.
			if !strings.HasPrefix(name, "unalike_segment_") {
				s.has("/metrics", "\n"+name)
			}
		}
	}
	s.has("/", "All is well: 1 generator issues IDs, and no tag lacks numbers.")
	s.has("/", "1,023 of 1,024 free at")
	s.stop()
}

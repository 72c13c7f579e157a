//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/promtest"
)

// TestServeNoAlert: a service that is well, with a real Prometheus at a usual interval, has no alert in ten minutes, not
// even one that is about to fire.
func TestServeNoAlert(t *testing.T) {
	length := time.Duration(fulltest.Rounds(0, 600)) * time.Second
	if length == 0 {
		t.Skip("it takes ten minutes: UNALIKE_FULL is not set")
	}
	t.Parallel()
	rules, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--coordinator", "embed://"+filepath.Join(t.TempDir(), "ids"), "--store", "embed://"+filepath.Join(t.TempDir(), "tags"))
	s.await("/readyz", "", isOK)
	const interval = 15 * time.Second
	p := promtest.Start(t, interval, string(rules), strings.TrimPrefix(s.url, "http://"))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < length; <-tick.C {
		if status, body := s.get("/v1/generators/default/ids?count=100", ""); status != http.StatusOK {
			t.Fatalf("IDs: %d %s", status, body)
		}
		if time.Since(begun) < 3*interval {
			continue // before the first scrape there is nobody
		}
		if a := p.Alerts(t); len(a) != 0 {
			t.Fatalf("after %v there are alerts: %v", time.Since(begun), a)
		}
	}
	s.stop()
}

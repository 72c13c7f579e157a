//go:build unix

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServeNoStore: a service of tags alone whose store is away is not ready from the start, says so, and metrics show it.
func TestServeNoStore(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--store", fmt.Sprintf("postgres://u:p@127.0.0.1:%d/db", proctest.FreePorts(t, 1)[0]))
	s.await("/healthz", "", isOK)
	if status, body := s.get("/readyz", ""); status != http.StatusServiceUnavailable || !strings.HasPrefix(body, "store: ") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if _, body := s.get("/metrics", ""); !strings.Contains(body, "\nunalike_store_ready 0\n") {
		t.Errorf("no unalike_store_ready 0 in\n%s", body)
	}
	s.stop()
}

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// resident returns how much memory a process has, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := residentLine.FindSubmatch(text)
	if m == nil {
		t.Fatalf("no VmRSS in %s", text)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestServeIdleConnections: thousands of connections that have asked for an ID and stay open cost little memory, and
// others are answered.
func TestServeIdleConnections(t *testing.T) {
	const most = 200 << 20
	s := startServe(t, "--config", serveFileOf(t, "serve.yaml", "coordinator: static://?worker=7&fresh=true\nmax_connections: 6000\n"))
	s.await("/readyz", "", isOK)
	count := fulltest.Rounds(500, 5000)
	answer := make([]byte, 1024)
	for range count {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /v1/generators/default/ids HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 200") {
			t.Fatalf("%s %v", answer[:n], err)
		}
	}
	if n := resident(t, s.cmd.Process.Pid); n > most {
		t.Errorf("with %d idle connections it has %d MiB", count, n>>20)
	} else {
		t.Logf("%d MiB with %d idle connections", n>>20, count)
	}
	if status, body := s.get("/v1/generators/default/ids", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.stop()
}

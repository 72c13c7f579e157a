//go:build unix

package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestServeSlowClients: connections whose requests do not come to an end are closed, and others are
// answered meanwhile.
func TestServeSlowClients(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--coordinator", "static://?worker=7")
	var slow []net.Conn
	for _, begun := range []string{"", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "GET /healthz HTTP/1.1\r\nX: " + strings.Repeat("x", 10_000), "POST /v1/generators/default/ids HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx"} {
		for range 20 {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, begun); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, conn)
		}
	}
	if status, body := s.get("/healthz", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	for _, conn := range slow {
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); err != nil { // returns when the server has closed it
			t.Errorf("%v", err)
		}
	}
	s.stop()
}

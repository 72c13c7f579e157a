//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServeSecrets: with nothing that works, everything that is said of it is free of passwords, tokens and keys.
func TestServeSecrets(t *testing.T) {
	t.Parallel()
	const password, token = "secret-of-the-database", "secret-token-of-operators"
	authority := certtest.New(t)
	own := authority.Issue(t)
	away := net.JoinHostPort("127.0.0.1", fmt.Sprint(proctest.FreePorts(t, 1)[0]))
	file := writeFile(t, "serve.yaml", fmt.Sprintf(`
generators:
  one: {coordinator: "redis://user:%[1]s@%[2]s/0?namespace=ns"}
  two: {coordinator: "postgres://user:%[1]s@%[2]s/db?namespace=ns", identity: someone}
store: mysql://user:%[1]s@%[2]s/leaf
tokens: [{file: %[3]s, may: [generate, operate]}]
leaf: {}
tls: {cert: %[4]s, key: %[5]s}
`, password, away, writeFile(t, "token", token), own.Cert, own.Key))
	s := startServe(t, "--config", file)
	s.await("/v1/sequences", token, func(status int, _ string) bool { return status == http.StatusServiceUnavailable })
	var said strings.Builder
	for _, path := range []string{
		"/readyz", "/metrics", "/v1/generators", "/v1/generators/one/ids", "/v1/generators/two/ids?count=2", "/v1/generators/two/ids?wait=100ms", "/v1/generators/one/layout",
		"/v1/sequences", "/v1/sequences/x/numbers", "/cache", "/db", "/api/snowflake/get/one", "/api/segment/get/x", "/nothing/" + token,
	} {
		for _, shown := range []string{token, token + "x", ""} {
			status, body := s.get(path, shown)
			if open := path == "/readyz"; status == http.StatusUnauthorized == (shown == token || open) {
				t.Errorf("%s with %q: %d", path, shown, status)
			}
			fmt.Fprintln(&said, body)
		}
	}
	s.stop()
	said.WriteString(s.stderr.String())
	if text := said.String(); strings.Contains(text, "secret") || strings.Contains(text, "PRIVATE KEY") || !strings.Contains(text, away) {
		t.Errorf("what is said has a secret in it, or does not name the address:\n%s", text)
	}
}

// TestServePlain: a listener with TLS says nothing over a connection without it.
func TestServePlain(t *testing.T) {
	t.Parallel()
	own := certtest.New(t).Issue(t)
	s := startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: static://?worker=7\ntls: {cert: %s, key: %s}\n", own.Cert, own.Key)))
	s.await("/v1/generators/default/ids", "", isOK)
	for _, request := range []string{
		"GET /v1/generators/default/ids HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request) // it may be cut off
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if strings.Contains(string(answer), "ids") || strings.Contains(string(answer), "200") {
			t.Errorf("%q: %s", request, answer)
		}
	}
	s.stop()
}

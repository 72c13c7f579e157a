//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServeSecrets: with nothing that works, everything that is said of it is free of passwords,
// tokens and keys, and names what does not work.
func TestServeSecrets(t *testing.T) {
	t.Parallel()
	const token = "secret-token-of-operators"
	own, away := certtest.New(t).Issue(t), nobody(t)
	s := startFile(t, `
generators:
  one: {coordinator: "redis://user:%[1]s@%[2]s/0?namespace=ns"}
  two: {coordinator: "postgres://user:%[1]s@%[2]s/db?namespace=ns", identity: someone}
store: mysql://user:%[1]s@%[2]s/leaf
tokens: [{file: %[3]s, may: [generate, operate]}]
leaf: {}
tls: {cert: %[4]s, key: %[5]s}
`, "secret-of-the-database", away, writeFile(t, "token", token), own.Cert, own.Key)
	s.await("/v1/sequences", token,
		func(status int, _ string) bool { return status == http.StatusServiceUnavailable })
	var said strings.Builder
	for _, path := range []string{
		"/readyz?verbose", "/metrics", "/v1/generators", "/v1/generators/one/ids",
		"/v1/generators/two/ids?count=2",
		"/v1/generators/two/ids?wait=100ms", "/v1/generators/one/layout", "/v1/sequences",
		"/v1/sequences/x/numbers",
		"/cache", "/db", "/api/snowflake/get/one", "/api/segment/get/x", "/nothing/" + token,
	} {
		for _, shown := range []string{token, token + "x", ""} {
			status, body := s.get(path, shown)
			open := strings.HasPrefix(path, "/readyz")
			if status == http.StatusUnauthorized == (shown == token || open) {
				t.Errorf("%s with %q: %d", path, shown, status)
			}
			fmt.Fprintln(&said, body)
		}
	}
	s.stop()
	said.WriteString(s.stderr.String())
	for what, want := range map[string]bool{
		"secret": false, "PRIVATE KEY": false, "msg=ready": false, away: true, "generator one: ": true,
		"\nstore: ": true,
	} {
		if strings.Contains(said.String(), what) != want {
			t.Errorf("%q is said: %t, want %t:\n%s", what, !want, want, &said)
		}
	}
}

// TestServeWaitEnds: a request that waits for the coordinator while the service stops is answered,
// and not cut off.
func TestServeWaitEnds(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--coordinator", "redis://"+nobody(t)+"/0?namespace=ns", "--drain", "2s")
	conn := s.say("GET " + defaultIDs + "?wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n")
	s.signal(syscall.SIGTERM)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("the request is cut off: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	s.ended()
}

// TestServeCertificates: clients show a certificate. A new one of the server is shown without a
// restart, and clients whose authority was taken away are refused, those as well that resume a
// session.
func TestServeCertificates(t *testing.T) {
	t.Parallel()
	authority, next := certtest.New(t), certtest.New(t)
	own, other, client := authority.Issue(t), authority.Issue(t), authority.Issue(t)
	s := startFile(t, "coordinator: static://?worker=7\ntls: {cert: %s, key: %s, client_ca: %s}\n",
		own.Cert, own.Key, authority.Path)
	pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
	if err != nil {
		t.Fatal(err)
	}
	good := []tls.Certificate{pair}
	dial := func(c *tls.Config) (state tls.ConnectionState, err error) {
		c.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), c)
		if err != nil {
			return state, err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn,
			"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
			return state, err
		}
		// a refusal comes with TLS 1.3 here, and the ticket of a session
		_, err = io.Copy(io.Discard, conn)
		return conn.ConnectionState(), err
	}
	sessions := tls.NewLRUClientSessionCache(1)
	resumes := &tls.Config{Certificates: good, ClientSessionCache: sessions}
	first, err := dial(resumes)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := dial(resumes); err != nil || !again.DidResume {
		t.Fatalf("the session is resumed: %v, %v", again.DidResume, err)
	}
	if _, err := dial(&tls.Config{}); err == nil {
		t.Error("without a certificate there is an answer")
	}
	s.client = insecure(t, good...)
	if resp, body := s.ask(defaultIDs+"?wait=30s", ""); resp.StatusCode != 200 ||
		resp.ProtoMajor != 2 {
		t.Errorf("%s %s %s", resp.Proto, resp.Status, body)
	}
	write := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(other.Cert, own.Cert)
	write(other.Key, own.Key)
	proctest.Eventually(t, time.Minute, "the new certificate is shown", func() bool {
		state, err := dial(&tls.Config{Certificates: good})
		return err == nil && !bytes.Equal(state.PeerCertificates[0].Raw, first.PeerCertificates[0].Raw)
	})
	write(next.Path, authority.Path)
	proctest.Eventually(t, time.Minute, "the client is refused", func() bool {
		_, err := dial(&tls.Config{Certificates: good})
		return err != nil
	})
	if _, err := dial(resumes); err == nil {
		t.Error("a session of a client that is refused by now is resumed")
	}
	s.client.CloseIdleConnections()
	s.stop()
}

//go:build unix

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
)

// served is a running 'unalike serve'.
type served struct {
	*program
	url    string
	client *http.Client
}

// startServe starts the program and waits until it listens.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	return startServeAs(t, func(*exec.Cmd) {}, args...)
}

// startServeAs starts the program after a change of how that is done, and waits until it listens.
func startServeAs(t *testing.T, change func(*exec.Cmd), args ...string) *served {
	t.Helper()
	p := startAs(t, t.TempDir(), change, append([]string{"serve", "--listen", "127.0.0.1:0", "--drain", "0s"}, args...)...)
	line, err := p.out.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q: %v\n%s", line, err, p.stderr.String())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // another test is about certificates
	t.Cleanup(transport.CloseIdleConnections)
	return &served{p, url, &http.Client{Transport: transport, Timeout: time.Minute}}
}

// get reads a page.
func (s *served) get(path, token string) (status int, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.stderr.String())
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// await polls a page until f is true for it.
func (s *served) await(path, token string, f func(status int, body string) bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		status, body := s.get(path, token)
		if f(status, body) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: %d %s\n%s", path, status, body, s.stderr.String())
		}
	}
}

// stop ends the program with SIGTERM and checks that it ends well.
func (s *served) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("after SIGTERM: %v\n%s", err, s.stderr.String())
	}
}

func isOK(status int, _ string) bool { return status == http.StatusOK }

// TestServe: without any settings there are IDs of the etcd of this user, and after SIGTERM the worker ID is free.
func TestServe(t *testing.T) {
	s := startServe(t)
	s.await("/readyz", "", isOK)
	status, body := s.get("/v1/generators/default/ids?count=3", "")
	if status != 200 || strings.Count(body, ",") != 2 {
		t.Errorf("%d %s", status, body)
	}
	s.await("/metrics", "", func(_ int, body string) bool {
		return strings.Contains(body, "\nunalike_ids_issued_total{generator=\"default\"} 3\n") && strings.Contains(body, "\nunalike_worker_ids{generator=\"default\",state=\"held\"} 1\n") &&
			strings.Contains(body, "\ngo_goroutines ")
	})
	s.stop()
}

// TestServeFile: several generators, tags and tokens from one file; a token that changes; worker IDs are given back.
func TestServeFile(t *testing.T) {
	state, token := filepath.Join(t.TempDir(), "state"), writeFile(t, "token", "first-token-of-the-test\n")
	ops := writeFile(t, "ops", "ops-token-of-the-test\n")
	file := writeFile(t, "serve.yaml", fmt.Sprintf(`
generators:
  orders: {coordinator: "static://?worker=7&state=%s&fresh=true"}
  default: {coordinator: "static://?worker=8&namespace=leaf&state=%s8&fresh=true", layout: twitter}
store: embed://%s
tokens: [{file: %s, may: [generate]}, {file: %s, may: [generate, operate]}]
leaf: {may: anyone}
max_count: 5
`, state, state, filepath.Join(t.TempDir(), "segments"), token, ops))
	s := startServe(t, "--config", file)
	s.await("/readyz", "", isOK)
	for path, want := range map[string]int{"/v1/generators/orders/ids?count=5": 200, "/v1/generators/orders/ids?count=6": 400, "/metrics": 403, "/cache": 403} {
		if status, body := s.get(path, "first-token-of-the-test"); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := s.get("/v1/generators", ""); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, body := s.get("/api/snowflake/get/x", ""); status != 200 || len(body) < 18 {
		t.Errorf("Leaf: %d %s", status, body)
	}
	s.await("/v1/sequences", "ops-token-of-the-test", isOK)
	if err := os.WriteFile(token, []byte("second-token-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.await("/v1/generators", "second-token-of-the-test", isOK)
	if status, _ := s.get("/v1/generators", "first-token-of-the-test"); status != 401 {
		t.Errorf("with the old token: %d", status)
	}
	s.stop()
	if strings.Contains(s.stderr.String(), "of-the-test") {
		t.Errorf("a token is in the log:\n%s", s.stderr.String())
	}
}

// TestServeTLS: certificates of clients are asked for, old versions of TLS are refused, HTTP/2 is spoken.
func TestServeTLS(t *testing.T) {
	authority := certtest.New(t)
	own, client := authority.Issue(t), authority.Issue(t)
	file := writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: static://?worker=7\ntls: {cert: %s, key: %s, client_ca: %s}\n", own.Cert, own.Key, authority.Path))
	s := startServe(t, "--config", file)
	pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(s.url, "https://")
	dial := func(c *tls.Config) error {
		c.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", addr, c)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
			return err
		}
		_, err = conn.Read(make([]byte, 1)) // with TLS 1.3 a client hears here that its certificate is refused
		return err
	}
	good := []tls.Certificate{pair}
	if err := dial(&tls.Config{Certificates: good}); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := dial(&tls.Config{}); err == nil {
		t.Error("without a certificate there is an answer")
	}
	if err := dial(&tls.Config{Certificates: good, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	s.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: good}}
	resp, err := s.client.Get(s.url + "/v1/generators/default/ids?wait=30s")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("%s %s", resp.Proto, resp.Status)
	}
	s.client.CloseIdleConnections()
	s.stop()
}

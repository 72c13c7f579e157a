//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// TestServeDescriptors: more idle connections than the process has descriptors stop neither IDs nor probes, nor the state
// file, and are told of.
func TestServeDescriptors(t *testing.T) {
	t.Parallel()
	few := func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 64; exec "$0" "$@"`, c.Path}, c.Args[1:]...)
	}
	s := startServeAs(t, few, "--coordinator", "static://?worker=7&fresh=true&state="+filepath.Join(t.TempDir(), "state"))
	s.await("/readyz", "", isOK)
	s.client.Timeout = 5 * time.Second
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); { // longer than a window without the state file
		for range 80 {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		s.client.CloseIdleConnections()
		for _, path := range []string{"/livez", "/readyz", "/v1/generators/default/ids"} {
			if status, body := s.get(path, ""); status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, status, body)
			}
		}
		pauseFor(t.Context(), 200*time.Millisecond)
	}
	if _, body := s.get("/metrics", ""); !strings.Contains(body, `unalike_refusals_total{reason="idle_connections"}`) {
		t.Error(body)
	}
	s.stop()
	for _, want := range []string{"the limit on open files allows fewer connections", "reason=idle_connections"} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, s.stderr.String())
		}
	}
}

// TestServeFull: where all connections have a request under way, the next one hears that at once, and when to come again.
func TestServeFull(t *testing.T) {
	t.Parallel()
	away := "generators: {away: {coordinator: 'etcd://127.0.0.1:1/x'}, default: {coordinator: 'static://?worker=7'}}\n"
	s := startServe(t, "--config", writeFile(t, "serve.yaml", away+"max_connections: 2\nready: any\nadmin_listen: 127.0.0.1:0\n"))
	admin := &served{s.program, s.logged("listening for operators", "address="), s.client}
	admin.await("/readyz", "", isOK)
	var all [2]net.Conn
	for i := range all {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /v1/generators/away/ids?wait=20s HTTP/1.1\r\nHost: localhost\r\n\r\n")
		all[i] = conn
	}
	admin.await("/metrics", "", func(_ int, body string) bool {
		return strings.Contains(body, "\nunalike_http_requests_in_flight 3\n") // with this one
	})
	if got := s.firstLine(""); got != "HTTP/1.1 503 Service Unavailable\r\n" {
		t.Errorf("the third connection hears %q", got)
	}
	_ = all[0].Close()
	streamtest.Eventually(t, "there is room", func() bool {
		return s.firstLine("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") == "HTTP/1.1 200 OK\r\n"
	})
	if _, body := admin.get("/metrics", ""); !strings.Contains(body, `unalike_refusals_total{reason="connections"}`) {
		t.Error(body)
	}
	_ = all[1].Close()
	s.stop()
}

// firstLine is what a connection hears first that says what is given; empty: nothing.
func (s *served) firstLine(says string) string {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, says) // one that is refused may be closed already
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}

// TestServeAge: a connection that is old is left by its caller, with the reply to one request, and no request is lost.
func TestServeAge(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--config", writeFile(t, "serve.yaml", "coordinator: static://?worker=7\nmax_connection_age: 1s\n"))
	s.await("/readyz", "", isOK)
	var dialled atomic.Int64
	counted := func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		dialled.Store(0)
		transport := &http.Transport{DialContext: counted, Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetUnencryptedHTTP2(http2)
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); pauseFor(t.Context(), 10*time.Millisecond) {
			if _, err := drawOnce(t.Context(), transport, s.url); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		transport.CloseIdleConnections()
		if n := dialled.Load(); n < 3 || n > 5 {
			t.Errorf("%s: %d connections in 3 s", name, n)
		}
	}
	if resp, err := s.grpc(nil).Generate(t.Context(), &unalikev1.GenerateRequest{}); err != nil || len(resp.Runs) != 1 {
		t.Errorf("gRPC: %v, %v", resp, err)
	}
	s.stop()
}

// TestServeAdmin: operators and probes have an address of their own, which needs no certificate, or a socket.
func TestServeAdmin(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	own := authority.Issue(t)
	socket := filepath.Join(t.TempDir(), "admin")
	const settings = "coordinator: static://?worker=7\ntls: {cert: %s, key: %s, client_ca: %s}\nadmin_listen: %s\n"
	for _, listen := range []string{"127.0.0.1:0", "unix:" + socket} {
		s := startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf(settings, own.Cert, own.Key, authority.Path, listen)))
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // another test is about certificates
		url := "http://admin"
		if listen != "127.0.0.1:0" {
			transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			}
		} else {
			url = s.logged("listening for operators", "address=")
		}
		admin := &served{s.program, url, &http.Client{Transport: transport, Timeout: time.Minute}}
		admin.await("/readyz", "", isOK)
		for path, want := range map[string]string{"/livez": "ok", "/metrics": "unalike_certificate_expires_timestamp_seconds ", "/debug/pprof/": "goroutine"} {
			if status, body := admin.get(path, ""); status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: %s: %d %s", listen, path, status, body)
			}
		}
		if status, _ := admin.get("/v1/generators/default/ids", ""); status != http.StatusNotFound {
			t.Errorf("%s: there are IDs: %d", listen, status)
		}
		transport.CloseIdleConnections()
		if listen == "127.0.0.1:0" {
			s.stop()
			continue
		}
		_ = s.cmd.Process.Kill() // so that the socket stays
		_ = s.cmd.Wait()
		startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf(settings, own.Cert, own.Key, authority.Path, listen))).stop()
	}
}

// logged waits for a line of the log and returns the value of an attribute in it.
func (s *served) logged(message, attribute string) string {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); pauseFor(s.t.Context(), 10*time.Millisecond) {
		for line := range strings.Lines(s.stderr.String()) {
			if _, rest, ok := strings.Cut(line, attribute); ok && strings.Contains(line, message) {
				return strings.Fields(rest)[0]
			}
		}
	}
	s.t.Fatalf("no line with %q and %q in the log:\n%s", message, attribute, s.stderr.String())
	return ""
}

// TestServeHangUp: SIGHUP has it read tokens and certificates again, and say so; the metric of that moves; it goes on.
func TestServeHangUp(t *testing.T) {
	t.Parallel()
	token := writeFile(t, "token", "first-token-of-the-test\n")
	s := startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: static://?worker=7\ntokens: [{file: %s, may: [generate, operate]}]\n", token)))
	s.await("/readyz", "", isOK)
	if err := os.WriteFile(token, []byte("second-token-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.logged("tokens and certificates were read again", "level=")
	if status, _ := s.get("/v1/generators", "second-token-of-the-test"); status != http.StatusOK {
		t.Errorf("with the new token: %d", status)
	}
	if err := os.WriteFile(token, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.logged("tokens cannot be read again, the old ones stay", "level=")
	if status, body := s.get("/metrics", "second-token-of-the-test"); status != http.StatusOK || !strings.Contains(body, "\nunalike_last_reload_timestamp_seconds ") || !strings.Contains(body, "\nunalike_build_info{") {
		t.Errorf("%d %s", status, body)
	}
	s.stop()
}

// TestServeLog: the log in JSON says when it listens, is ready, and stops, at the usual level; with a higher one it does not.
func TestServeLog(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--coordinator", "static://?worker=7", "--log-format", "json")
	s.await("/readyz", "", isOK)
	pauseFor(t.Context(), 2*readyEvery)
	s.stop()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(s.stderr.String())); lines.Scan(); {
		var line struct{ Level, Msg string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		seen[line.Level+" "+line.Msg] = true
	}
	for _, want := range []string{"INFO listening", "INFO ready", "INFO stopping"} {
		if !seen[want] {
			t.Errorf("%q is not in the log:\n%s", want, s.stderr.String())
		}
	}
	quiet := startServe(t, "--coordinator", "static://?worker=7", "--log-level", "error")
	quiet.await("/readyz", "", isOK)
	if quiet.stop(); quiet.stderr.String() != "" {
		t.Errorf("at the level of errors the log has\n%s", quiet.stderr.String())
	}
}

// TestServeNotReadyLog: an outage is in the log when it begins and when it ends.
func TestServeNotReadyLog(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--config", writeFile(t, "serve.yaml", "coordinator: static://?worker=7\nstore: etcd://127.0.0.1:1/x\n"))
	s.await("/livez", "", isOK)
	if status, body := s.get("/readyz?verbose", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "generator default: ") || !strings.Contains(body, "\nstore: ") {
		t.Errorf("%d %s", status, body)
	}
	s.stop()
	if strings.Contains(s.stderr.String(), "msg=ready") {
		t.Errorf("%s", s.stderr.String())
	}
}

// TestServeListenVariable: the variable names the address, and the flag wins.
func TestServeListenVariable(t *testing.T) {
	t.Parallel()
	p := startAs(t, t.TempDir(), func(c *exec.Cmd) { c.Env = append(c.Env, envListen+"=127.0.0.1:0") }, "serve", "--coordinator", "static://?worker=7", "--drain", "0s")
	if line, err := p.out.ReadString('\n'); err != nil || strings.Contains(line, ":8080") {
		t.Errorf("%q, %v", line, err)
	}
	(&served{program: p}).stop()
	s := startServeAs(t, func(c *exec.Cmd) { c.Env = append(c.Env, envListen+"=nowhere") }, "--coordinator", "static://?worker=7")
	s.stop()
}

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// defaultIDs is where a single generator gives its IDs.
const defaultIDs = "/v1/generators/default/ids"

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

// startFile starts the program with a file of settings, and waits until it listens.
func startFile(t *testing.T, format string, values ...any) *served {
	t.Helper()
	return startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf(format, values...)))
}

// startServeAs starts the program after a change of how that is done, and waits until it listens.
func startServeAs(t *testing.T, change func(*exec.Cmd), args ...string) *served {
	t.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--drain", "0s"}, args...)
	p := startAs(t, t.TempDir(), change, args...)
	line, err := p.out.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q: %v", line, err)
	}
	return &served{p, url, insecure(t)}
}

// insecure returns a client that takes any certificate: another test is about these.
func insecure(t *testing.T, own ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{
		ForceAttemptHTTP2: len(own) > 0,
		//nolint:gosec // see above
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// ask reads a page.
func (s *served) ask(path, token string) (resp *http.Response, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if resp, err = s.client.Do(req); err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

// get reads a page.
func (s *served) get(path, token string) (status int, body string) {
	s.t.Helper()
	resp, body := s.ask(path, token)
	return resp.StatusCode, body
}

// await polls a page until f is true for it.
func (s *served) await(path, token string, f func(status int, body string) bool) {
	s.t.Helper()
	proctest.Eventually(s.t, time.Minute, path, func() bool { return f(s.get(path, token)) })
}

func isOK(status int, _ string) bool { return status == http.StatusOK }

// ready waits until all is ready.
func (s *served) ready() *served {
	s.t.Helper()
	s.await("/readyz", "", isOK)
	return s
}

// has waits until a page has a text in it.
func (s *served) has(path, text string) {
	s.t.Helper()
	s.await(path, "", func(_ int, body string) bool { return strings.Contains(body, text) })
}

// take takes 100 IDs, which must lie above the last one, and returns the last of them.
func (s *served) take(last core.ID) core.ID {
	s.t.Helper()
	_, body := s.get(defaultIDs+"?count=100", "")
	var all struct{ IDs []core.ID }
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all.IDs) != 100 {
		s.t.Fatalf("%s: %v", body, err)
	}
	for _, id := range all.IDs {
		if id <= last {
			safetytest.Of(s.t).Errorf("%v after %v", id, last)
		}
		last = id
	}
	return last
}

// say opens a connection, which the test closes, and says something.
func (s *served) say(text string) net.Conn {
	s.t.Helper()
	_, addr, _ := strings.Cut(s.url, "://")
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, text) // it may be refused and closed already
	return conn
}

// logged waits for a line of the log and returns the value of an attribute in it.
func (s *served) logged(message, attribute string) (value string) {
	s.t.Helper()
	proctest.Eventually(s.t, time.Minute, message+" in the log", func() bool {
		for line := range strings.Lines(s.stderr.String()) {
			if _, rest, ok := strings.Cut(line, attribute); ok && strings.Contains(line, message) {
				value = strings.Fields(rest)[0]
				return true
			}
		}
		return false
	})
	return value
}

// stop ends the program with SIGTERM and checks that it ends well.
func (s *served) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.ended()
}

// ended checks that the program ends well.
func (s *served) ended() {
	s.t.Helper()
	if code := s.wait(); code != exitOK {
		s.t.Errorf("exit code %d", code)
	}
}

// kill ends the program with SIGKILL.
func (s *served) kill() {
	s.t.Helper()
	s.signal(os.Kill)
	s.wait()
}

// TestServe: without any settings there are IDs of the etcd of this user.
func TestServe(t *testing.T) {
	s := startServe(t).ready()
	if status, body := s.get(defaultIDs+"?count=3", ""); status != 200 ||
		strings.Count(body, ",") != 2 {
		t.Errorf("%d %s", status, body)
	}
	s.has("/metrics", "\nunalike_ids_issued_total{generator=\"default\"} 3\n")
	s.has("/metrics", "\nunalike_worker_ids{generator=\"default\",state=\"held\"} 1\n")
	s.has("/metrics", "\ngo_goroutines ")
	s.stop()
}

// TestServeFile: several generators, tags and tokens from one file; a token that changes.
func TestServeFile(t *testing.T) {
	state, token := filepath.Join(t.TempDir(), "state"),
		writeFile(t, "token", "first-token-of-the-test\n")
	s := startFile(t, `
generators:
  orders: {coordinator: "static://?worker=7&state=%s&fresh=true"}
  default:
    layout: twitter
    coordinator: "static://?worker=8&namespace=leaf&state=%[1]s8&fresh=true"
store: embed://%s
tokens: [{file: %s, may: [generate]}, {file: %s, may: [generate, operate]}]
leaf: {may: anyone}
max_count: 5
`, state, filepath.Join(t.TempDir(), "segments"), token,
		writeFile(t, "ops", "ops-token-of-the-test\n"))
	s.ready()
	for _, tt := range []struct {
		path, token string
		want        int
	}{
		{"/v1/generators/orders/ids?count=5", "first-token-of-the-test", 200},
		{"/v1/generators/orders/ids?count=6", "first-token-of-the-test", 400},
		{"/metrics", "first-token-of-the-test", 403},
		{"/v1/generators", "", 401},
		{"/api/snowflake/get/x", "", 200},
	} {
		if status, body := s.get(tt.path, tt.token); status != tt.want {
			t.Errorf("%s: %d %s", tt.path, status, body)
		}
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
		t.Error("a token is in the log")
	}
}

// TestServeHangUp: SIGHUP has it read tokens and certificates again, and say so; the metric of that
// moves; it goes on.
func TestServeHangUp(t *testing.T) {
	t.Parallel()
	token := writeFile(t, "token", "first-token-of-the-test\n")
	s := startFile(t, "coordinator: static://?worker=7\ntokens: [{file: %s, may: [generate, "+
		"operate]}]\n", token)
	s.ready()
	for _, tt := range [][2]string{
		{"second-token-of-the-test", "tokens and certificates were read again"},
		{"short", "tokens cannot be read; the last ones stay"},
	} {
		if err := os.WriteFile(token, []byte(tt[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		s.signal(syscall.SIGHUP)
		s.logged(tt[1], "level=")
		status, body := s.get("/metrics", "second-token-of-the-test")
		if status != http.StatusOK ||
			!strings.Contains(body, "\nunalike_last_reload_timestamp_seconds ") {
			t.Errorf("%s: %d %s", tt[1], status, body)
		}
	}
	s.stop()
}

// TestServeLog: the log in JSON says when it listens, is ready, and stops, at the usual level; with
// a higher one it does not.
func TestServeLog(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--coordinator", "static://?worker=7", "--log-format", "json").ready()
	s.logged(`"msg":"ready"`, `"level":`)
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
			t.Errorf("%q is not in the log", want)
		}
	}
	quiet := startServe(t, "--coordinator", "static://?worker=7", "--log-level", "error").ready()
	if quiet.stop(); quiet.stderr.String() != "" {
		t.Error("at the level of errors there is a log")
	}
}

// TestServeListenVariable: the variable names the address, and the flag wins.
func TestServeListenVariable(t *testing.T) {
	t.Parallel()
	listen := func(addr string) func(*exec.Cmd) {
		return func(c *exec.Cmd) { c.Env = append(c.Env, envListen+"="+addr) }
	}
	p := startAs(t, t.TempDir(), listen("127.0.0.1:0"), "serve", "--coordinator",
		"static://?worker=7", "--drain", "0s")
	if line, err := p.out.ReadString('\n'); err != nil || strings.Contains(line, ":8080") {
		t.Errorf("%q, %v", line, err)
	}
	(&served{program: p}).stop()
	startServeAs(t, listen("nowhere"), "--coordinator", "static://?worker=7").stop()
}

// TestServeSlowClients: connections whose requests do not come to an end are closed, and others are
// answered meanwhile.
func TestServeSlowClients(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--coordinator", "static://?worker=7")
	var slow []net.Conn
	for _, begun := range []string{
		"", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
		"GET /healthz HTTP/1.1\r\nX: " + strings.Repeat("x", 10_000),
		"POST " + defaultIDs + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
	} {
		for range 20 {
			slow = append(slow, s.say(begun))
		}
	}
	if status, body := s.get("/healthz", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	for _, conn := range slow {
		if _, err := io.Copy(io.Discard, conn); err != nil { // returns when the server has closed it
			t.Error(err)
		}
	}
	s.stop()
}

// drawOnce draws an ID with a POST, which net/http does not send a second time, and reports whether
// the connection is to be closed.
func drawOnce(ctx context.Context, transport *http.Transport, url string) (told bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+defaultIDs, http.NoBody)
	if err != nil {
		return false, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Close, err
}

// TestServeDrainKept: a service that stops says at once that it is not ready, and whoever keeps a
// connection is told during the drain to leave it, so that no request meets one that is closed.
func TestServeDrainKept(t *testing.T) {
	t.Parallel()
	const clients = 16
	s := startServe(t, "--drain", "3s", "--config", writeFile(t, "serve.yaml",
		"coordinator: static://?worker=12\nstore: embed://"+t.TempDir()+"/tags\n")).ready()
	var all sync.WaitGroup
	kept := make(chan struct{}, clients)
	for range clients {
		all.Go(func() {
			transport := &http.Transport{MaxConnsPerHost: 1}
			defer transport.CloseIdleConnections()
			for n := 0; ; n++ {
				told, err := drawOnce(t.Context(), transport, s.url)
				if err != nil {
					t.Errorf("request %d of a connection is lost: %v", n, err)
				}
				if n == 1 {
					kept <- struct{}{}
				}
				if told || err != nil {
					return
				}
				lifetime.Sleep(t.Context(), 20*time.Millisecond)
			}
		})
	}
	for range clients {
		<-kept
	}
	s.signal(syscall.SIGTERM)
	s.await("/readyz", "",
		func(status int, _ string) bool { return status == http.StatusServiceUnavailable })
	// The store answers as well that it does not have a tag.
	if status, body := s.get("/v1/sequences/none/numbers", ""); status != http.StatusNotFound {
		t.Errorf("numbers in the drain: %d %s", status, body)
	}
	all.Wait()
	s.ended()
}

// TestServe_AllAreHeld: a service that waits for a worker ID shows soon that all are held.
func TestServe_AllAreHeld(t *testing.T) {
	t.Parallel()
	url := "file://" + filepath.Join(t.TempDir(), "ids")
	if got := call(t, nil, "", "init", "--coordinator", url); got.code != exitOK {
		t.Fatalf("init: %+v", got)
	}
	const one = "coordinator: %s\nworker_ids: 0-0\n"
	first := startFile(t, one, url).ready()
	second := startFile(t, one, url)
	second.has("/metrics", "\nunalike_worker_ids{generator=\"default\",state=\"held\"} 1\n")
	first.stop()
	second.ready().stop()
}

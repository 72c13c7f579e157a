//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// TestServeDescriptors: more idle connections than the process has descriptors stop neither IDs nor
// probes, nor the state file, and are told of.
func TestServeDescriptors(t *testing.T) {
	t.Parallel()
	few := func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `ulimit -n 64; exec "$0" "$@"`, c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}
	state := filepath.Join(t.TempDir(), "state")
	s := startServeAs(t, few, "--coordinator", "static://?worker=7&fresh=true&state="+state).ready()
	s.client.Timeout = 5 * time.Second
	// longer than a window without the state file
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
		for range 80 {
			s.say("")
		}
		s.client.CloseIdleConnections()
		for _, path := range []string{"/livez", "/readyz", defaultIDs} {
			if status, body := s.get(path, ""); status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, status, body)
			}
		}
		lifetime.Sleep(t.Context(), 200*time.Millisecond)
	}
	s.logged("the limit on open files allows fewer connections", "level=")
	s.logged("reason=connections", "level=")
	s.stop()
}

// TestServeFull: where all connections have a request in flight, the next one takes the place of
// the one that waits for the longest time; with a token, it waits until one of them has ended.
func TestServeFull(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-good-caller"
	for _, with := range []string{"", "\r\nAuthorization: Bearer " + token} {
		settings := fmt.Sprintf("tokens: [{file: %s, may: [generate, operate]}]\n",
			writeFile(t, "token", token))
		if with == "" {
			settings = ""
		}
		s := startFile(t, `
generators:
  away: {coordinator: 'etcd://127.0.0.1:1/x'}
  default: {coordinator: 'static://?worker=7'}
max_connections: 2
ready: any
admin_listen: 127.0.0.1:0
`+"%s", settings)
		admin := &served{s.program, s.logged("listening for operators", "address="), s.client}
		admin.ready()
		ask := func(path string) net.Conn {
			return s.say("GET " + path + " HTTP/1.1\r\nHost: localhost" + with + "\r\n\r\n")
		}
		var all [2]net.Conn
		for i := range all {
			all[i] = ask("/v1/generators/away/ids?wait=20s")
			proctest.Eventually(t, time.Minute, "the request is in flight", func() bool {
				_, body := admin.get("/metrics", token)
				return strings.Contains(body,
					fmt.Sprintf("\nunalike_http_requests_in_flight %d\n", i+2)) // with this one
			})
		}
		answer := make(chan string, 1)
		third := ask("/livez")
		go func() {
			line, _ := bufio.NewReader(third).ReadString('\n')
			answer <- line
		}()
		if with == "" {
			if _, err := all[0].Read(make([]byte, 1)); err == nil {
				t.Error("the first request is answered")
			}
			s.logged("reason=connections", "level=")
		} else {
			select {
			case line := <-answer:
				t.Errorf("the third connection hears %q", line)
			case <-time.After(time.Second):
			}
			_ = all[0].Close()
		}
		if got := <-answer; got != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("the third connection hears %q", got)
		}
		_ = all[1].Close()
		s.client.CloseIdleConnections()
		s.stop()
	}
}

// TestServeAge: a connection that is old is left by its caller, with the reply to one request, and
// no request is lost.
func TestServeAge(t *testing.T) {
	t.Parallel()
	s := startFile(t, "coordinator: static://?worker=7\nmax_connection_age: 1s\n").ready()
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
		began := time.Now()
		for dialled.Load() < 3 && time.Since(began) < time.Minute {
			if _, err := drawOnce(t.Context(), transport, s.url); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			lifetime.Sleep(t.Context(), 10*time.Millisecond)
		}
		transport.CloseIdleConnections()
		if took, n := time.Since(began), dialled.Load(); n != 3 || took < time.Second {
			t.Errorf("%s: %d connections in %v", name, n, took)
		}
	}
	bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := s.grpc().Watch(bounded, &unalikev1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
	}
	if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a stream ends with %v", err)
	}
	if resp, err := s.grpc().Generate(t.Context(), &unalikev1.GenerateRequest{}); err != nil ||
		len(resp.Runs) != 1 {
		t.Errorf("gRPC: %v, %v", resp, err)
	}
	s.stop()
}

// TestServeAdmin: operators and probes have an address of their own, which needs no certificate, or
// a socket.
func TestServeAdmin(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	own := authority.Issue(t)
	socket := filepath.Join(t.TempDir(), "admin")
	launch := func(listen string) *served {
		return startFile(t,
			"coordinator: static://?worker=7\ntls: {cert: %s, key: %s, client_ca: %s}\nadmin_listen: %s\n",
			own.Cert, own.Key, authority.Path, listen)
	}
	check := func(s *served, url string, client *http.Client) {
		t.Helper()
		admin := (&served{s.program, url, client}).ready()
		admin.has("/livez", "ok")
		admin.has("/metrics", "unalike_certificate_expires_timestamp_seconds ")
		admin.has("/debug/pprof/", "goroutine")
		if status, _ := admin.get(defaultIDs, ""); status != http.StatusNotFound {
			t.Errorf("%s: there are IDs: %d", url, status)
		}
		client.CloseIdleConnections()
	}
	s := launch("127.0.0.1:0")
	check(s, s.logged("listening for operators", "address="), s.client)
	s.stop()

	s = launch("unix:" + socket)
	check(s, "http://admin", &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}})
	s.kill() // so that the socket stays
	launch("unix:" + socket).stop()
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServeWaitEnds: a request that waits for the coordinator while the service stops is answered, and not cut off.
func TestServeWaitEnds(t *testing.T) {
	t.Parallel()
	away := net.JoinHostPort("127.0.0.1", fmt.Sprint(proctest.FreePorts(t, 1)[0]))
	s := startServe(t, "--coordinator", "redis://"+away+"/0?namespace=ns", "--drain", "2s")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/generators/default/ids?wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("the request is cut off: %v\n%s", err, s.stderr.String())
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
}

// TestServeCertificates: a new certificate is shown without a restart, and clients whose authority was taken away are
// refused, those as well that resume a session of TLS.
func TestServeCertificates(t *testing.T) {
	t.Parallel()
	authority, next := certtest.New(t), certtest.New(t)
	own, other, client := authority.Issue(t), authority.Issue(t), authority.Issue(t)
	s := startServe(t, "--config", writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: static://?worker=7\ntls: {cert: %s, key: %s, client_ca: %s}\n", own.Cert, own.Key, authority.Path)))
	pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(sessions tls.ClientSessionCache) (state tls.ConnectionState, err error) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}, ClientSessionCache: sessions, //nolint:gosec // another test is about certificates
		})
		if err != nil {
			return state, err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
			return state, err
		}
		_, err = io.Copy(io.Discard, conn) // a refusal comes with TLS 1.3 here, and the ticket of a session
		return conn.ConnectionState(), err
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
	await := func(what string, f func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !f(); pauseFor(t.Context(), reloadEvery/10) {
			if time.Now().After(end) {
				t.Fatalf("not: %s\n%s", what, s.stderr.String())
			}
		}
	}
	sessions := tls.NewLRUClientSessionCache(1)
	first, err := dial(sessions)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := dial(sessions); err != nil || !again.DidResume {
		t.Fatalf("the session is resumed: %v, %v", again.DidResume, err)
	}
	write(other.Cert, own.Cert)
	write(other.Key, own.Key)
	await("the new certificate is shown", func() bool {
		state, err := dial(nil)
		return err == nil && !bytes.Equal(state.PeerCertificates[0].Raw, first.PeerCertificates[0].Raw)
	})
	write(next.Path, authority.Path)
	await("the client is refused", func() bool { _, err := dial(nil); return err != nil })
	if _, err := dial(sessions); err == nil {
		t.Error("a session of a client that is refused by now is resumed")
	}
	s.stop()
}

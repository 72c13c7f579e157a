package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// serverURLs are URLs of each kind of server, with ADDRESS where it stands.
var serverURLs = []string{
	"etcd://ADDRESS/x", "etcd://u:p@ADDRESS/x", "redis://:secret@ADDRESS/0?namespace=x", "redis-sentinel://ADDRESS/m/0?namespace=x",
	"redis-cluster://ADDRESS?namespace=x", "zk://ADDRESS?namespace=x", "postgres://u:secret@ADDRESS/db?namespace=x", "mysql://u:secret@ADDRESS/db?namespace=x",
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestRefused: where nobody is, every command says so at once, whatever the back end, and
// not only when its timeout has passed.
func TestRefused(t *testing.T) {
	t.Parallel()
	addr := nobody(t)
	for _, url := range serverURLs {
		for _, command := range [][]string{{"generate"}, {"workers"}, {"init"}, {"quarantine", "--yes"}, {"retire", "1", "--yes"}} {
			got := callWithin(t, time.Hour, append(command, "--coordinator", strings.Replace(url, "ADDRESS", addr, 1))...)
			wantCall(t, got, exitFailure, "", "unalike: --coordinator: nobody is there: connection refused by "+addr+"; check the address and that it is up, or wait for it with --wait\n")
			if strings.Contains(got.stderr, "secret") {
				t.Errorf("the password was printed:\n%s", got.stderr)
			}
		}
		// What is wrong with the URL comes first.
		wrong := strings.Replace(url, "ADDRESS", addr, 1)
		if strings.Contains(wrong, "?") {
			wantCall(t, callWithin(t, time.Hour, "workers", "--coordinator", wrong+"&colour=red"), exitUsage, "", `unknown option "colour"`)
		}
	}
}

// TestWaitForACoordinator: with --wait, it may come up later, or not at all.
func TestWaitForACoordinator(t *testing.T) {
	t.Parallel()
	addr := nobody(t)
	url := "redis://" + addr + "/0?namespace=x"
	got := callWithin(t, time.Second, "workers", "--wait", "--coordinator", url)
	wantCall(t, got, exitFailure, "", "unalike: waiting for "+addr+" to accept connections, at most 1s ...\n")
	wantCall(t, got, exitFailure, "", "connection refused by "+addr+" for 1s; --timeout makes that longer\n")

	done := make(chan result, 1)
	go func() {
		done <- callWithin(t, time.Minute, "workers", "--wait", "--timeout", "30s", "--coordinator", url)
	}()
	l, err := net.Listen("tcp", addr) // it comes up, and hangs up on everybody
	if err != nil {
		t.Skipf("the port was taken: %v", err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	got = <-done
	_ = l.Close()
	if strings.Contains(got.stderr, "refused") {
		t.Errorf("it went on although somebody was there:\n%s", got.stderr)
	}
}

// TestTimeout bounds a start, also one whose wait has a known end.
func TestTimeout(t *testing.T) {
	t.Parallel()
	addr := silent(t)
	for name, url := range map[string]string{
		"nobody answers": "redis://" + addr + "/0?namespace=x",
		"window":         "static://?worker=3&horizon=10m&state=" + t.TempDir() + "/state",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, "", "generate", "--timeout", "1s", "--coordinator", url)
			if got.code != exitFailure || !strings.Contains(got.stderr, "1s") {
				t.Errorf("%+v", got)
			}
		})
	}
}

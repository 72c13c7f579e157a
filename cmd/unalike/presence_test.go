package main

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// serverURLs are URLs of each kind of server, with ADDRESS where it stands.
var serverURLs = []string{
	"etcd://ADDRESS/x", "etcd://u:p@ADDRESS/x", "redis://:secret@ADDRESS/0?namespace=x",
	"redis-sentinel://ADDRESS/m/0?namespace=x", "redis-cluster://ADDRESS?namespace=x",
	"zk://ADDRESS?namespace=x", "kubernetes+http://ADDRESS?namespace=x",
	"postgres://u:secret@ADDRESS/db?namespace=x", "mysql://u:secret@ADDRESS/db?namespace=x",
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(proctest.FreePorts(t, 1)[0]))
}

// TestPorts: every driver whose URLs name servers says which port is meant where there is none.
func TestPorts(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"etcd://h/x": "h:2379", "zk://h,i:3?namespace=x": "h:2181 i:3", "rediss://[::1]/0": "[::1]:6379",
		"redis-sentinel://h/m/0": "h:26379", "postgres://u@h/db": "h:5432", "mysql://u@h/db": "h:3306",
		"kubernetes+http://h": "h:80", "kubernetes+http://h:8001": "h:8001",
		"kubernetes://?namespace=x": "",
		"static://?worker=1":        "", "embed:///dir": "", "postgres://u@/db?socket=/run": "",
	} {
		if got := strings.Join((place{rawURL: url}).addresses(), " "); got != want {
			t.Errorf("%s leads to %q; want %q", url, got, want)
		}
	}
	for _, scheme := range append(drivers.Coordinators.Schemes(), drivers.Stores.Schemes()...) {
		without := []string{"embed", "file", "kubernetes", "static"}
		if drivers.Port(scheme) == "" && !slices.Contains(without, scheme) {
			t.Errorf("the driver of %s:// does not say which port is meant", scheme)
		}
	}
}

// TestRefused: where nobody is, every command says so at once, whatever the back end, and
// not only when its timeout has passed.
func TestRefused(t *testing.T) {
	t.Parallel()
	addr := nobody(t)
	want := ": nobody is there: connection refused by " + addr +
		"; check the address and that it is up, or wait for it with --wait\n"
	for flag, of := range map[string]struct{ urls, commands []string }{
		"--coordinator": {
			serverURLs,
			[]string{"workers", "generate", "init", "quarantine --yes", "retire 1 --yes"},
		},
		"--store": {storeURLs, []string{
			"segments", "segments create x", "segments advance x --to 5 --yes", "generate --segment x",
		}},
	} {
		for _, url := range of.urls {
			url = strings.Replace(url, "ADDRESS", addr, 1)
			for _, command := range of.commands {
				got := callWithin(t, time.Hour, append(strings.Fields(command), flag, url)...)
				wantCall(t, got, exitFailure, "", "unalike: "+flag+want)
				if strings.Contains(got.stderr, "secret") {
					t.Errorf("the password was printed:\n%s", got.stderr)
				}
			}
		}
	}
}

// TestWaitForACoordinator: with --wait, it may come up later, or not at all.
func TestWaitForACoordinator(t *testing.T) {
	t.Parallel()
	addr := nobody(t)
	command := []string{"workers", "--wait", "--coordinator", "redis://" + addr + "/0?namespace=x"}
	got := callWithin(t, time.Second, command...)
	wantCall(t, got, exitFailure, "",
		"unalike: waiting for "+addr+" to accept connections, at most 1s ...\n")
	wantCall(t, got, exitFailure, "",
		"connection refused by "+addr+" for 1s; --timeout makes that longer\n")

	done := make(chan result, 1)
	go func() { done <- callWithin(t, time.Minute, append(command, "--timeout", "30s")...) }()
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
	checkLines(t, nil, []line{
		{
			"generate --timeout 1s --coordinator redis://" + silent(t) + "/0?namespace=x", exitFailure,
			"1s",
		},
		{
			"generate --timeout 1s --coordinator static://?worker=907&horizon=10m&state=" + t.TempDir() +
				"/state",
			exitFailure, "1s",
		},
	})
}

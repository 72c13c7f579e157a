package proxytest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// start runs a proxy before a server that sends back what it gets.
func start(t *testing.T) *proxytest.Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return proxytest.Start(t, l.Addr().String())
}

func dial(t *testing.T, p *proxytest.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echoes reports whether all of a text comes back.
func echoes(c net.Conn, text string) bool {
	if _, err := io.WriteString(c, text); err != nil {
		return false
	}
	b := make([]byte, len(text))
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == text
}

// wantSilence checks that nothing comes back of a text, not even an end.
func wantSilence(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v came; want nothing", n, err)
	}
}

// TestDelay: answers under way at a time are late by the delay each, and not by the sum.
func TestDelay(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := dial(t, p)
	const delay, n = 200 * time.Millisecond, 100
	p.Delay(delay)
	began := time.Now()
	for range n {
		if _, err := io.WriteString(c, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < delay || took > n*delay/2 {
		t.Errorf("%d answers took %v; each is late by %v", n, took, delay)
	}
}

// TestTrips: what is sent without an answer in between is one round trip.
func TestTrips(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := dial(t, p)
	p.Trips()
	for range 3 {
		if !echoes(c, strings.Repeat("x", 1000)) {
			t.Fatal("it does not forward")
		}
	}
	if n := p.Trips(); n != 3 || p.Connections() != 1 {
		t.Errorf("there were %d round trips on %d connections; want 3 on one", n, p.Connections())
	}
}

// TestForget: nothing gets through on a connection that was forgotten, and on one from a request
// on. Others go on.
func TestForget(t *testing.T) {
	t.Parallel()
	p := start(t)
	old := dial(t, p)
	if !echoes(old, "x") {
		t.Fatal("it does not forward")
	}
	p.Forget()
	wantSilence(t, old, "x")
	a, b := dial(t, p), dial(t, p)
	p.ForgetAt(func(request []byte) bool { return bytes.Contains(request, []byte("last")) }, 1)
	if !echoes(a, "x") || !echoes(b, "x") {
		t.Error("a new connection does not work")
	}
	wantSilence(t, a, "last")
	wantSilence(t, a, "x")
	if !echoes(b, "last") {
		t.Error("another connection does not go on")
	}
}

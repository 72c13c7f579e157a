package proxytest_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// echo starts a server that sends back what it gets.
func echo(t *testing.T) string {
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
	return l.Addr().String()
}

// Answers under way at a time are late by the delay each, and not by the sum.
func TestDelay(t *testing.T) {
	t.Parallel()
	p := proxytest.Start(t, echo(t))
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const delay, n = 200 * time.Millisecond, 100
	p.Delay(delay)
	began := time.Now()
	answers := bufio.NewReader(c)
	for range n {
		if _, err := c.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		if line, err := answers.ReadString('\n'); err != nil || line != "x\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if took := time.Since(began); took < delay || took > n*delay/2 {
		t.Errorf("%d answers took %v; each is late by %v", n, took, delay)
	}
	if p.Connections() != 1 {
		t.Errorf("%d connections were made", p.Connections())
	}
}
